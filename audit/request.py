"""An audit as a user asks for it, in words: what is written on a command line, checked and carried out."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dpverdict.audit.callables import load_callable
from dpverdict.audit.catalogue import Named, find_mechanism, option, takes
from dpverdict.audit.data_files import read_pair, read_table
from dpverdict.audit.membership import membership_game
from dpverdict.audit.option_text import bounds, probability, whole_number
from dpverdict.audit.report import Report
from dpverdict.audit.run import Numbers, Sampling, audit_callable, audit_mechanism, default_samples
from dpverdict.audit.search_request import DEFAULT_SAMPLES as SEARCHED_SAMPLES
from dpverdict.audit.search_request import search_as_asked
from dpverdict.audit.trials import AnyMechanism, Sampler
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.adjacency import adjacency_name, parse_adjacency
from dpverdict.mechanisms.guarantee import parse_guarantee
from dpverdict.mechanisms.mechanism import AdditiveMechanism
from dpverdict.mechanisms.neighbours import NeighbourPair

DEFAULT_ERROR_PROBABILITY: Final = "1e-6"

Bar = Callable[[str, int, int], None]
"""A progress bar: told what is being done, how much of it is done, and how much there is to do."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be audited, every part as text; None stands for "not given".

    Attributes:
        mechanism: a name, or ``module:function``.
        options: parameters of the mechanism, by the names of the constructor's arguments.
        claim: see `parse_guarantee`; the mechanism's own if not given.
        data: a table of records, see `read_table`.
        record: the index of a record of the table; the most exposed one if not given.
        neighbours: a pair of datasets, see `read_pair`.
        samples, error_probability, seed, score, test_delta: how releases are tested.
        numbers: what the claim is about: "real", "double", or the releases as they are if not given.
        search: the domain of the records, as in "binary:20": the pair of datasets is searched for.
        exact_only: whether nothing is sampled.
        command: the command line, without the seed if it was not given.
    """

    mechanism: str
    options: Mapping[str, str | None] = field(default_factory=dict)
    claim: str | None = None
    data: str | None = None
    record: str | None = None
    neighbours: str | None = None
    samples: str | None = None
    error_probability: str | None = None
    seed: str | None = None
    score: str | None = None
    test_delta: str | None = None
    numbers: str | None = None
    search: str | None = None
    exact_only: bool = False
    command: str | None = None


def carry_out(request: Request, bar: Bar | None = None) -> Report:
    """Check every part of a request, then run the audit it asks for.

    Raises:
        DpverdictError: a part that cannot be used, with its name, value, requirement and remedy.
    """
    _check_combination(request)
    seed = secrets.randbits(63) if request.seed is None else whole_number(request.seed, "seed", at_least=0)
    error = probability(request.error_probability or DEFAULT_ERROR_PROBABILITY, "error_probability")
    samples = None if request.samples is None else whole_number(request.samples, "samples", at_least=1)
    record = None if request.record is None else whole_number(request.record, "record", at_least=0)
    if request.test_delta is not None:
        probability(request.test_delta, "test_delta")
    claim = None if request.claim is None else parse_guarantee(request.claim)
    score = None if request.score is None else load_callable(request.score, name="score")
    relation = request.options.get("adjacency")
    adjacency = None if relation is None else parse_adjacency(relation)
    table = None if request.data is None else read_table(request.data)
    pair = None if request.neighbours is None else read_pair(request.neighbours, adjacency)
    options = dict(request.options)
    if request.search is not None:
        options.pop("adjacency", None)  # it is that of the search
    named = find(request.mechanism, options, table=table, pair=pair)
    parameters = {}
    if not isinstance(named.mechanism, AdditiveMechanism):
        _check_black_box(request)
    elif request.search is not None:
        requirement = f"left out for {request.mechanism}, whose worst neighbours are known exactly"
        raise InvalidValue("search", request.search, requirement, "drop --search")
    if request.search is not None:
        assert claim is not None  # see _check_black_box
        assert not isinstance(named.mechanism, AdditiveMechanism)
        search, samples = search_as_asked(
            request.search,
            named.mechanism,
            claim,
            adjacency=adjacency,
            samples=SEARCHED_SAMPLES if samples is None else samples,
            seed=seed,
        )
        pair = search.best.pair
        parameters["neighbours searched"] = (
            f"{len(search.ranking)} pairs with {search.samples} releases per dataset, then thrown away; tested on the "
            f"best: {search.best.origin}"
        )
    sampling = None
    if not request.exact_only:
        if samples is None:
            samples = default_samples(_release_size(named.mechanism, pair, seed))
            parameters["releases per dataset"] = f"{samples} (from the size of a release; --samples sets it)"
        if request.error_probability is None:
            parameters["error probability"] = f"{DEFAULT_ERROR_PROBABILITY} for each test (--error-probability sets it)"
        told = None if bar is None else partial(bar, "releases")
        sampling = Sampling(
            samples=samples,
            error_probability=error,
            seed=seed,
            score=score,
            delta=request.test_delta,
            numbers=numbers_of(request.numbers),
            progress=told,
        )
    command = _with_seed(request, seed)
    mechanism = named.mechanism
    if not isinstance(mechanism, AdditiveMechanism):
        assert claim is not None  # see _check_black_box, for all three
        assert pair is not None
        assert sampling is not None
        if request.neighbours is not None:
            parameters["pair of datasets"] = request.neighbours
        return audit_callable(
            mechanism,
            claim,
            neighbours=pair,
            sampling=sampling,
            name=request.mechanism,
            parameters=parameters,
            command=command,
        )
    game = None
    if table is not None:
        parameters["table"] = str(request.data)
        told = None if bar is None else partial(bar, "records")
        game = membership_game(mechanism, table, record=record, progress=told)
    if pair is not None:
        parameters["pair of datasets"] = f"{request.neighbours}; the lengths say {adjacency_name(pair.adjacency)}"
    return audit_mechanism(
        mechanism,
        claim,
        sampling=sampling,
        game=game,
        neighbours=pair,
        parameters=parameters,
        notes=named.notes,
        command=command,
    )


def numbers_of(text: str | None) -> Numbers:
    """What the claim is about, of its name."""
    known = [numbers.value for numbers in Numbers]
    if text is not None and text not in known:
        remedy = "real rounds every output before it is looked at, double searches the low bits"
        raise InvalidValue("numbers", text, f"one of {', '.join(known)}", remedy)
    return Numbers.RELEASED if text is None else Numbers(text)


def find(
    name: str,
    options: Mapping[str, str | None],
    *,
    table: NDArray[np.float64] | None = None,
    pair: NeighbourPair | None = None,
) -> Named:
    """The mechanism that a name and options in words describe; the shape of the data fills in what was not given."""
    given: dict[str, object] = {key: text for key, text in options.items() if text is not None}
    for key in ("dim", "groups", "k", "horizon", "arity"):
        if key in given and given[key] != "best":
            given[key] = whole_number(str(given[key]), key, at_least=1)
    if "adjacency" in given:
        given["adjacency"] = parse_adjacency(str(given["adjacency"]))
    elif pair is not None and takes(name, "adjacency"):
        given["adjacency"] = pair.adjacency
    if "bounds" in given:
        numbers = bounds(str(given["bounds"]))
        given["bounds"] = numbers[0] if len(numbers) == 1 and "dim" in given else numbers
    data = pair.dataset if pair is not None else table
    if data is not None and takes(name, "horizon"):
        given.setdefault("horizon", len(data))
    if data is not None and takes(name, "dim"):
        grouped = takes(name, "groups")
        if data.ndim != 2 + grouped:
            shape = "(records, groups, queries)" if grouped else "(records, queries)"
            remedy = "store the records in that shape in a .npy or .npz file" if grouped else "give one record per row"
            raise InvalidValue("data", f"array of shape {data.shape}", f"of shape {shape} for {name}", remedy)
        for key, size in (("dim", data.shape[-1]), *((("groups", data.shape[1]),) if grouped else ())):
            if given.setdefault(key, size) != size:
                raise InvalidValue(key, given[key], f"{size}, as the data have it", f"leave out {option(key)}")
    return find_mechanism(name, given)


def find_white_box(name: str, options: Mapping[str, str | None]) -> tuple[AdditiveMechanism, tuple[str, ...]]:
    """A mechanism of known structure, and the notes on how it was made; curves are known of no other.

    Raises:
        InvalidValue: a function of which only the releases are seen.
    """
    named = find(name, options)
    if not isinstance(named.mechanism, AdditiveMechanism):
        remedy = "choose one of: dpverdict list"
        raise InvalidValue("mechanism", name, "a mechanism of known structure, to have curves", remedy)
    return named.mechanism, named.notes


def _release_size(mechanism: AdditiveMechanism | AnyMechanism, pair: NeighbourPair | None, seed: int) -> int:
    """How many numbers a release holds."""
    if isinstance(mechanism, AdditiveMechanism):
        return mechanism.noise.size
    assert pair is not None  # see _check_black_box
    return Sampler.prepare(mechanism, pair.dataset, where="the dataset", seed=seed).size


def _check_combination(request: Request) -> None:
    """Refuse what would be ignored."""
    if request.data is None:
        _leave_out(request, "without --data", "record")
    else:
        _leave_out(request, "with --data", "neighbours")
    if request.search is not None:
        _leave_out(request, "with --search", "neighbours", "data")
    if request.exact_only:
        tests = ("neighbours", "samples", "error_probability", "seed", "score", "test_delta", "numbers", "search")
        _leave_out(request, "with --no-test", *tests)


def _leave_out(request: Request, why: str, *names: str) -> None:
    for name in names:
        value = getattr(request, name)
        if value is not None:
            raise InvalidValue(name, value, f"left out {why}", f"drop {option(name)}, or change the other option")


def _check_black_box(request: Request) -> None:
    for name, example in (("neighbours", "a .npz file with the arrays dataset and neighbour"), ("claim", '"mu=1"')):
        if getattr(request, name) is None and (name == "claim" or request.search is None):
            requirement = f"given for {request.mechanism}, of which only the releases are seen"
            raise InvalidValue(name, None, requirement, f"add {option(name)}, for example {example}")


def _with_seed(request: Request, seed: int) -> str | None:
    if request.command is None or request.exact_only or request.seed is not None:
        return request.command
    return f"{request.command} --seed {seed}"
