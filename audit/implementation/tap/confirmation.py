"""A finding of the tap, tested on fresh releases of the untouched function."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, final

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus, TapVerdict
from dpverdict.audit.implementation.tap.tapped_runs import tap
from dpverdict.audit.trials.run import AnyMechanism
from dpverdict.errors import MechanismFailure
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.neighbours import Neighbours
from dpverdict.numerics.text import at_least, at_most

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
        score: what the tap gave to tell the releases apart, in words; "" if it gave nothing.
    """

    samples: int
    error_probability: float
    refuted: bool
    epsilon_lower: float | None
    score: str

    def text(self) -> str:
        """One line."""
        bound = "" if self.epsilon_lower is None else f"eps >= {at_least(self.epsilon_lower, 4)}, "
        found = "the claim is refuted" if self.refuted else "the claim is not refuted"
        by = f" by the {self.score.removeprefix('the ')}" if self.score else ""
        error = at_most(self.error_probability, 2)
        return f"{self.samples} fresh releases on each dataset{by}: {bound}{found} (error {error})"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; an infinite number as text."""
        found = asdict(self)
        return {**found, "epsilon_lower": "inf" if self.epsilon_lower == float("inf") else self.epsilon_lower}

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Confirmation:
        """The same, from JSON values."""
        lower = fields["epsilon_lower"]
        words: dict[str, Any] = {**fields, "epsilon_lower": float("inf") if lower == "inf" else lower}
        return Confirmation(**words)


def confirm(
    verdict: TapVerdict,
    mechanism: AnyMechanism,
    neighbours: Neighbours,
    claim: Guarantee | str,
    *,
    seed: int,
    error_probability: float,
    samples: int,
) -> Confirmation | None:
    """Test what the tap found on fresh releases, by its score; None if it found nothing, or the releases fail.

    Args:
        verdict: of the tap.
        mechanism, neighbours, claim: as they were tapped.
        seed: of the releases.
        error_probability: that the test refutes a claim that holds.
        samples: fresh releases on each dataset; 0 for no test.
    """
    if not samples or verdict.status not in (TapStatus.REFUTED, TapStatus.FINDING):
        return None
    try:
        test = distinguish(
            mechanism,
            neighbours,
            claim,
            error_probability=error_probability,
            samples=samples,
            seed=seed,
            delta=0,
            score=verdict.score,
        )
    except MechanismFailure:
        return None
    return Confirmation(
        samples=samples,
        error_probability=error_probability,
        refuted=test.refuted,
        epsilon_lower=test.epsilon_lower,
        score="" if verdict.score is None else verdict.score.name,
    )


def tap_and_confirm(
    mechanism: AnyMechanism,
    neighbours: Neighbours,
    claim: Guarantee | str,
    *,
    seed: int,
    error_probability: float,
    samples: int,
) -> tuple[TapVerdict, Confirmation | None]:
    """`tap`, and for what it found `confirm`.

    Args:
        mechanism, neighbours, claim, seed: see `tap`.
        error_probability: that the test refutes a claim that holds.
        samples: fresh releases on each dataset; 0 for no test.
    """
    verdict = tap(mechanism, neighbours, claim, seed=seed)
    asked: dict[str, Any] = {"seed": seed, "error_probability": error_probability, "samples": samples}
    return verdict, confirm(verdict, mechanism, neighbours, claim, **asked)
