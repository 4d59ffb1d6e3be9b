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

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.implementation.tap.tapped_runs import tap
from dpverdict.audit.implementation.tap.verdict import TapStatus, TapVerdict
from dpverdict.audit.isolation.process import Limits, run_isolated
from dpverdict.audit.trials.catalogue import find
from dpverdict.audit.trials.data_files import read_pair
from dpverdict.audit.trials.measurements import MeasuredRelease
from dpverdict.audit.trials.run import AnyMechanism
from dpverdict.audit.trials.words import probability
from dpverdict.errors import DpverdictError, InvalidValue, MechanismFailure, in_one_line
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee, parse_guarantee
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.core.neighbours import AnyPair, Neighbours, as_pair
from dpverdict.numerics.text import at_least, whole_number

ENTRY: Final = "dpverdict.audit.implementation.tap.confirmed:work"
CONFIRMING: Final = 2_000
"""Fresh releases on each dataset, if no number is given."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A test of the claim on fresh releases of the untouched function.

    Attributes:
        samples: releases on each dataset.
        error_probability: of refuting a claim that holds.
        refuted: whether the test refuted the claim.
        epsilon_lower: a bound on epsilon from below, which holds but for the error probability; None without one.
    """

    samples: int
    error_probability: float
    refuted: bool
    epsilon_lower: float | None

    def text(self) -> str:
        """One line."""
        bound = "" if self.epsilon_lower is None else f"eps >= {at_least(self.epsilon_lower, 4)}, "
        found = "the claim is refuted" if self.refuted else "the claim is not refuted"
        return f"{self.samples} fresh releases on each dataset: {bound}{found} (error {self.error_probability:g})"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tapped:
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
        confirmation = None if self.confirmation is None else asdict(self.confirmation)
        if confirmation is not None and confirmation["epsilon_lower"] == float("inf"):
            confirmation["epsilon_lower"] = "inf"
        return {"tap": self.verdict.to_dict(), "fresh_releases": confirmation, "exit_code": self.exit_code}

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> Tapped:
        """The same, from JSON values."""
        given = fields["fresh_releases"]
        if given is not None:
            lower = given["epsilon_lower"]
            words: dict[str, Any] = {**given, "epsilon_lower": float("inf") if lower == "inf" else lower}
            given = Confirmation(**words)
        return Tapped(verdict=TapVerdict.from_dict(fields["tap"]), confirmation=given)


def tap_and_confirm(
    mechanism: AnyMechanism,
    neighbours: Neighbours,
    claim: Guarantee | str,
    *,
    seed: int,
    error_probability: float,
    samples: int,
) -> Tapped:
    """`tap`, and for what it found a test on fresh releases of the function as it is.

    Args:
        mechanism, neighbours, claim, seed: see `tap`.
        error_probability: that the test refutes a claim that holds.
        samples: fresh releases on each dataset; 0 for no test.
    """
    verdict = tap(mechanism, neighbours, claim, seed=seed)
    if not samples or verdict.status not in (TapStatus.REFUTED, TapStatus.FINDING):
        return Tapped(verdict=verdict, confirmation=None)
    try:
        test = distinguish(
            mechanism, neighbours, claim, error_probability=error_probability, samples=samples, seed=seed, delta=0
        )
    except MechanismFailure:
        return Tapped(verdict=verdict, confirmation=None)
    confirmation = Confirmation(
        samples=samples,
        error_probability=error_probability,
        refuted=test.refuted,
        epsilon_lower=test.epsilon_lower,
    )
    return Tapped(verdict=verdict, confirmation=confirmation)


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


def tap_apart(request: TapRequest, limits: Limits) -> Tapped:
    """Carry out a request in a process of its own.

    Raises:
        DpverdictError: it cannot be carried out, or did not finish.
    """
    answer = run_isolated(ENTRY, asdict(request), what=request.mechanism, limits=limits)
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        raise TapFailed(answer["error"])
    try:
        if not isinstance(answer, dict):
            raise ValueError("it is no verdict")
        found = Tapped.from_dict(answer)
        if answer["exit_code"] != found.exit_code:
            raise ValueError("its exit code is not that of its evidence")
        return found
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"sent something that is no verdict ({in_one_line(error)})"
        raise MechanismFailure(request.mechanism, problem, "look at what it replaces or writes to") from None


class TapFailed(DpverdictError):
    """A request could not be carried out in its process; the message is the one it had there."""


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side: load the function, tap it, confirm what was found."""
    try:
        return _carried_out(TapRequest(**request)).to_dict()
    except (DpverdictError, OSError) as error:
        return {"error": str(error) or type(error).__name__}
    except BaseException as error:  # the user's code may raise anything: SystemExit is no verdict
        return {"error": f"the code that was run ended the tap with {in_one_line(error)}, which is no verdict"}


def _carried_out(request: TapRequest) -> Tapped:
    seed = secrets.randbits(63) if request.seed is None else whole_number(request.seed, "seed", at_least=0)
    samples = CONFIRMING if request.samples is None else whole_number(request.samples, "samples", at_least=0)
    error = probability(request.error_probability or "1e-6", "error_probability")
    claim = None if request.claim is None else parse_guarantee(request.claim)
    pair: AnyPair | None = None if request.neighbours is None else read_pair(request.neighbours)
    options = {name: value for name, value in (request.options or {}).items() if value is not None}
    mechanism = find(request.mechanism, options).mechanism
    if isinstance(mechanism, AdditiveMechanism):
        from dpverdict.audit.exact.worst_case import worst_case

        claim, pair = claim or mechanism.claim, pair or worst_case(mechanism).pair
    elif isinstance(mechanism, MeasuredRelease):
        claim = claim or mechanism.read_claim(None if pair is None else "neighbours")
        pair = pair or mechanism.pair
    if pair is None:
        remedy = "add --neighbours, for example a .npz file with the arrays dataset and neighbour"
        raise InvalidValue("neighbours", None, f"given for {request.mechanism}", remedy)
    if claim is None:
        raise InvalidValue("claim", None, f"given for {request.mechanism}", 'add --claim, for example "eps=1"')
    return tap_and_confirm(
        mechanism, as_pair(pair), as_guarantee(claim), seed=seed, error_probability=error, samples=samples
    )
