"""The tap as a user asks for it, and the fresh releases that confirm what it found: in a process of its own.

    this process --request--> runner --fork--> the runs with tapped samplers
                                |
                                +--> fresh releases of the untouched function --> distinguishing test

The runner loads the function and never replaces anything; the runs that are tapped happen in a child of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from dpverdict.audit.implementation.tap.confirmation import CONFIRMING, Confirmation, tap_and_confirm
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus, TapVerdict
from dpverdict.audit.isolation.process import Limits
from dpverdict.audit.isolation.requests import answer_of, answered
from dpverdict.audit.trials.catalogue import find
from dpverdict.audit.trials.data_files import read_pair
from dpverdict.audit.trials.libraries.adapter import LibraryRelease
from dpverdict.audit.trials.user_functions import probability
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.mechanisms.core.guarantees import as_guarantee, parse_guarantee
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.mechanisms.core.neighbours import AnyPair, as_pair
from dpverdict.numerics.text import whole_number

ENTRY: Final = "dpverdict.audit.implementation.tap.tap_request:work"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TapReport:
    """What the tap found, and what fresh releases say of it.

    Attributes:
        verdict: of the tap.
        confirmation: None if there was nothing to confirm, or none was wanted.
    """

    verdict: TapVerdict
    confirmation: Confirmation | None

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted, exactly or by the releases."""
        confirmed = self.confirmation is not None and self.confirmation.refuted
        return confirmed or self.verdict.status is TapStatus.REFUTED

    @property
    def exit_code(self) -> int:
        """1 for a claim that is refuted, 3 for everything else."""
        return 1 if self.refuted else 3

    def text(self) -> str:
        """For a terminal."""
        if self.confirmation is None:
            return self.verdict.text()
        head = "REFUTED by fresh releases\n" if self.confirmation.refuted and self.verdict.exit_code != 1 else ""
        return f"{head}{self.verdict.text()}\n{self.confirmation.text()}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        fresh = None if self.confirmation is None else self.confirmation.to_dict()
        return {"tap": self.verdict.to_dict(), "fresh_releases": fresh, "exit_code": self.exit_code}

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> TapReport:
        """The same, from JSON values."""
        given = fields["fresh_releases"]
        fresh = None if given is None else Confirmation.from_dict(given)
        return TapReport(verdict=TapVerdict.from_dict(fields["tap"]), confirmation=fresh)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TapRequest:
    """What is to be tapped, every part as text; None stands for "not given".

    Attributes:
        mechanism: ``module:function``, or a name of the catalogue.
        neighbours: a pair of datasets, see `read_pair`; the worst pair of a mechanism of the catalogue if not given.
        claim: see `parse_guarantee`; the mechanism's own if it has one.
        options: parameters of a mechanism of the catalogue.
        seed: of the recorded draws; fresh if not given.
        samples: fresh releases on each dataset that confirm a finding; 0 for none.
        error_probability: of the test on them.
    """

    mechanism: str
    neighbours: str | None = None
    claim: str | None = None
    options: Mapping[str, str | None] | None = None
    seed: str | None = None
    samples: str | None = None
    error_probability: str | None = None


def tap_in_subprocess(request: TapRequest, limits: Limits) -> TapReport:
    """Carry out a request in a process of its own.

    Raises:
        DpverdictError: it cannot be carried out, or did not finish.
    """
    return answer_of(
        ENTRY,
        asdict(request),
        TapReport.from_dict,
        what=request.mechanism,
        kind="a verdict",
        failed=TapFailed,
        limits=limits,
    )


class TapFailed(DpverdictError):
    """A request could not be carried out in its process; the message is the one it had there."""


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side: load the function, tap it, confirm what was found."""
    return answered(lambda: _carry_out(TapRequest(**request)), "tap")


def _carry_out(request: TapRequest) -> TapReport:
    seed = secrets.randbits(63) if request.seed is None else whole_number(request.seed, "seed", at_least=0)
    samples = CONFIRMING if request.samples is None else whole_number(request.samples, "samples", at_least=0)
    error = probability(request.error_probability or "1e-6", "error_probability")
    claim = None if request.claim is None else parse_guarantee(request.claim)
    pair: AnyPair | None = None if request.neighbours is None else read_pair(request.neighbours)
    options = {name: value for name, value in (request.options or {}).items() if value is not None}
    mechanism = find(request.mechanism, options).mechanism
    if isinstance(mechanism, StructuredMechanism):
        from dpverdict.audit.exact.worst_case import worst_case

        claim, pair = claim or mechanism.claim, pair or worst_case(mechanism).pair
    elif isinstance(mechanism, LibraryRelease):
        claim = claim or mechanism.read_claim(None if pair is None else "neighbours")
        pair = pair or mechanism.pair
    if pair is None:
        remedy = "add --neighbours, for example a .npz file with the arrays dataset and neighbour"
        raise InvalidValue("neighbours", None, f"given for {request.mechanism}", remedy)
    if claim is None:
        raise InvalidValue("claim", None, f"given for {request.mechanism}", 'add --claim, for example "eps=1"')
    verdict, confirmation = tap_and_confirm(
        mechanism, as_pair(pair), as_guarantee(claim), seed=seed, error_probability=error, samples=samples
    )
    return TapReport(verdict=verdict, confirmation=confirmation)
