"""An audit as a user asks for it: the one list of its parts, for the command line, for plans and for the audit itself.

Every part is a text, as it is written on a command line or in a plan; None stands for "not given". Beside its text for
the help and the pages, a part says how the command line shows it ("metavar", "panel", and "option" where it is not
named after the part, and "brief" for a list of one line
each), what it names ("file" or "function"), and whether a plan says it once for all audits ("shared").
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct

from dpverdict.audit.documents.schema import described, said_of

DEFAULT_ERROR_PROBABILITY: Final = "1e-6"
"""Of refuting a claim that holds, where none is given."""

Text: TypeAlias = str | None


def _part(metavar: str, text: str, panel: str, **more: object) -> Meta:
    return described(text, metavar=metavar, panel=panel, **more)


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be audited, every part as text.

    Attributes:
        options: parameters of the mechanism, by the names of the constructor's arguments.
        command: the command line, without the seed if it was not given.
    """

    mechanism: Annotated[
        str,
        described(
            "A name that `dpverdict list` shows (broken:M3 is one of the known-wrong ones), or module:function or "
            "path/file.py:function, called as function(dataset, rng) or function(dataset).",
            names="function",
        ),
    ]
    claim: Annotated[
        Text,
        _part(
            "TEXT",
            'Such as "mu=1", "eps=1, delta=1e-6" or "rho=0.5"; else its own.',
            "Audit",
            brief='Such as mu=1, "eps=1, delta=1e-6"; else its own.',
        ),
    ] = None
    data: Annotated[
        Text,
        _part(
            "TABLE",
            "Records: .csv, .npy, .npz or module:name. For a function also .parquet, .feather, .jsonl, .xlsx, with "
            "columns of any type: its neighbours are searched.",
            "Audit",
            names="file",
            brief="Its records; neighbours of a function are searched.",
        ),
    ] = None
    user: Annotated[
        Text,
        _part(
            "COLUMN",
            "Of --data: neighbours differ in all records of one user, whom this column names.",
            "Audit",
            brief="Of --data: whose a record is; neighbours are users.",
        ),
    ] = None
    record: Annotated[Text, _part("INDEX", "Test this record of the table; else the most exposed.", "Audit")] = None
    neighbours: Annotated[
        Text,
        _part(
            "FILE",
            "A .npz with the arrays dataset and neighbour, or module:name of two.",
            "Audit",
            names="file",
            brief="A .npz with the arrays dataset and neighbour.",
        ),
    ] = None
    samples: Annotated[
        Text,
        _part(
            "N",
            "Releases per dataset, 1e6 for a million; from the dimension if not given.",
            "Tests",
            brief="Releases per dataset, such as 1e6.",
        ),
    ] = None
    error_probability: Annotated[
        Text,
        _part(
            "P",
            f"Of refuting a true claim by chance; {DEFAULT_ERROR_PROBABILITY} if left out.",
            "Tests",
            shared=True,
            brief="Of refuting a true claim; 1e-6 if left out.",
        ),
    ] = None
    seed: Annotated[
        Text,
        _part(
            "N",
            "Of every random number; drawn fresh and reported if not given.",
            "Tests",
            shared=True,
            brief="Of every random number; drawn fresh if not given.",
        ),
    ] = None
    score: Annotated[
        Text,
        _part(
            "module:function",
            "Scores releases; likelihood ratio if not given.",
            "Tests",
            names="function",
            brief="Scores releases; likelihood ratio if not given.",
        ),
    ] = None
    test_delta: Annotated[
        Text,
        _part(
            "D",
            "Bound epsilon from below at this delta; else that of --claim.",
            "Tests",
            brief="Bound epsilon from below at this delta.",
        ),
    ] = None
    numbers: Annotated[
        Text,
        _part(
            "real|double",
            "Round outputs before the test, or search their low bits too.",
            "Tests",
            brief="Round outputs first, or search their low bits too.",
        ),
    ] = None
    schema: Annotated[
        Text,
        _part(
            "FILE",
            "Of the table that a function takes: its claim is decided for every pair. With --data: what it may hold.",
            "Audit",
            names="file",
            brief="Of a function's table: decides it for every pair.",
        ),
    ] = None
    search: Annotated[
        Text,
        _part(
            "binary:N|unit:N",
            "Search the neighbours of a function, records of N entries.",
            "Tests",
            brief="Search the neighbours of a function, N entries.",
        ),
    ] = None
    search_time: Annotated[
        Text,
        _part(
            "SECONDS",
            "For the search of neighbours in --data; 60 if left out.",
            "Tests",
            brief="For the search in --data; 60 if left out.",
        ),
    ] = None
    observe: Annotated[
        Text,
        _part(
            "WHAT",
            'Of each call of a function: "timeout=0.5, warnings, bits, time"; "no-messages, no-masked" leave out what '
            "exceptions say and what lies below masks.",
            "Tests",
            brief="Of each call: timeout=0.5, warnings, bits, time.",
        ),
    ] = None
    tap: Annotated[
        Text,
        described(
            "Record and replay the noise, too: see dpverdict tap. Of a function it is done unless left out.",
            panel="Tests",
            option="--tap/--no-tap",
            brief="Record and replay the noise of a function, or not.",
        ),
    ] = None
    exact_only: Annotated[
        bool, described("Exact evidence only: sample nothing.", panel="Tests", option="--no-test")
    ] = False
    base_rate: Annotated[
        Text,
        _part(
            "P",
            "Say how often an attacker is right who suspects this share of people: 0.001 is 1 in 1000.",
            "Audit",
            brief="Risk to one suspected at this rate, such as 0.001.",
        ),
    ] = None
    options: Mapping[str, str | None] = {}
    command: Text = None

    @property
    def followed(self) -> bool:
        """Whether a function is followed operation by operation, for every table of a schema."""
        return self.schema is not None and self.data is None

    @property
    def inputs(self) -> dict[str, str]:
        """The files that are read, by a word for each; of a function, the file that it is in."""
        bounds = self.options.get("bounds")
        named: dict[str, Text] = {f"the {name}": getattr(self, name) for name in parts(Request, "names")}
        named["the bounds"] = bounds[1:] if bounds is not None and bounds.startswith("@") else None
        return {
            what: text.rpartition(":")[0] if names_a_callable(text) else text
            for what, text in named.items()
            if text is not None
        }


class ScoresRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A claim about recorded scores: with and without the canary, or of all canaries of one run.

    Attributes:
        command: the command line, without the seed if it was not given.
    """

    scores_in: Annotated[
        Text,
        _part(
            "FILE",
            "Scores with the canary: .npy, .csv, .parquet (file.csv#column).",
            "Scores",
            option="--in",
            names="file",
        ),
    ] = None
    scores_out: Annotated[Text, _part("FILE", "Scores without it.", "Scores", option="--out", names="file")] = None
    scores: Annotated[Text, _part("FILE", "In their place, of all canaries of one run.", "Scores", names="file")] = None
    included: Annotated[
        Text, _part("FILE", "The fair coin of each canary of that run: 0 or 1.", "Scores", names="file")
    ] = None
    claim: Annotated[Text, _part("TEXT", 'Such as "mu=1" or "eps=1, delta=1e-6".', "Audit")]
    delta: Annotated[Text, _part("D", "Bound epsilon from below at this delta; else that of --claim.", "Audit")] = None
    error_probability: Annotated[
        Text,
        _part("P", f"Of refuting a true claim; {DEFAULT_ERROR_PROBABILITY} if left out.", "Audit", shared=True),
    ] = None
    seed: Annotated[
        Text,
        _part("N", "Of the split of the scores; drawn fresh and reported if not given.", "Audit", shared=True),
    ] = None
    command: Text = None

    @property
    def exact_only(self) -> bool:
        """False: nothing exact is known of scores."""
        return False

    @property
    def inputs(self) -> dict[str, str]:
        """The files that are read, by a word for each."""
        named: dict[str, Text] = {
            option_of(ScoresRequest, name): getattr(self, name) for name in parts(ScoresRequest, "names")
        }
        return {f"the file of {name}": text.partition("#")[0] for name, text in named.items() if text is not None}


AnyRequest: TypeAlias = Request | ScoresRequest


class SamplerRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a loader is said to make its batches, and what is to be found out of it.

    Attributes:
        command: the command line, without the seed if it was not given.
    """

    loader: Annotated[
        str,
        described("loader.py:make or module:make, a function that gives the loader.", names="function"),
    ]
    sampling: Annotated[Text, _part("WORD", "poisson, fixed-size, shuffle or balls-in-bins.", "Claim")] = None
    rate: Annotated[Text, _part("Q", "Of poisson; of balls-in-bins, one over the batches of a pass.", "Claim")] = None
    size: Annotated[Text, _part("B", "Of a batch, of fixed-size and shuffle.", "Claim")] = None
    records: Annotated[Text, _part("N", "Of the data; what the loader says if not given.", "Claim")] = None
    batches: Annotated[Text, _part("N", "To be drawn, in whole passes; 1000 if not given.", "Tests")] = None
    seed: Annotated[
        Text, _part("N", "Of a function that takes a seed; drawn fresh and shown if not given.", "Tests", shared=True)
    ] = None
    error_probability: Annotated[
        Text, _part("P", f"Of all tests together; {DEFAULT_ERROR_PROBABILITY} if left out.", "Tests", shared=True)
    ] = None
    noise_multiplier: Annotated[Text, _part("S", "Of the training whose epsilon is wanted.", "Epsilon")] = None
    steps: Annotated[Text, _part("T", "Of that training.", "Epsilon")] = None
    delta: Annotated[Text, _part("D", "At which epsilon is wanted.", "Epsilon")] = None
    command: Text = None

    @property
    def exact_only(self) -> bool:
        """False: only the batches are seen."""
        return False

    @property
    def inputs(self) -> dict[str, str]:
        """No tables: what the function reads is its own."""
        return {}


class CompositionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Releases of a plan whose privacy losses are composed.

    Attributes:
        folder: of the plan, where relative paths begin.
    """

    releases: Annotated[
        tuple[str, ...],
        described('A list; each as "30 x gaussian sigma=20 sensitivity=1", or a .json file of an event.'),
    ]
    claim: Annotated[Text, _part("TEXT", "That all of them are to keep together.", "Audit")] = None
    delta: Annotated[Text, _part("D", "At which the epsilon is said, without a claim.", "Audit")] = None
    adjacency: Annotated[Text, _part("RELATION", "Of events; add-or-remove-one or replace-one.", "Audit")] = None
    base_rate: Annotated[Text, _part("P", "The share of people an attacker suspects, for the risk.", "Audit")] = None
    folder: str = "."

    @property
    def exact_only(self) -> bool:
        """True: nothing is sampled."""
        return True

    @property
    def inputs(self) -> dict[str, str]:
        """The files of events that are read, by a word for each."""
        named = [re.sub(r"^\s*\S+\s+x\s+", "", text).strip() for text in self.releases]
        events = [name for name in named if name.lower().endswith(".json")]
        return {f"the event {name}": os.path.join(self.folder, name) for name in events}


PlannedRequest: TypeAlias = AnyRequest | SamplerRequest | CompositionRequest
"""What an audit of a plan asks for."""


@functools.cache
def parts(kind: type[Struct], saying: str | None = None) -> Mapping[str, Mapping[str, Any]]:
    """The parts of a request that a user writes, in the order of the help, with what is said of each.

    Args:
        kind: of the request.
        saying: only the parts of which this is said, such as "names"; None for all.
    """
    said = {name: said_of(kind, name) for name in kind.__struct_fields__}
    return {name: found for name, found in said.items() if found and (saying is None or found.get(saying))}


def option_of(kind: type[Struct], name: str) -> str:
    """The option of the command line for a part of a request."""
    found: str = parts(kind)[name].get("option", "--" + name.replace("_", "-"))
    return found


def with_seed(command: str | None, given: str | None, seed: int) -> str | None:
    """The command line that draws the same numbers again: with the seed that was drawn, if none was given."""
    return command if command is None or given is not None else f"{command} --seed {seed}"


def names_a_callable(text: str) -> bool:
    """Whether ``text`` reads ``module:function`` or ``path/file.py:function``."""
    module, colon, name = text.rpartition(":")
    return bool(colon and module) and name.isidentifier()
