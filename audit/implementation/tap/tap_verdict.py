"""What the tap says: REFUTED, FINDING, QUIET or NOT COVERED, with a table that is read in ten seconds.

REFUTED is exact: the noisy values that moved stand in the outcome as they are, the law and the factor of every draw in
them are known, a second run on the same data agreed, other draws moved them alike, and their loss breaks the claim; or
no draw was seen in any run, the function gave one outcome on each dataset, and they differ. Everything else that a
correct mechanism does not do is a FINDING: fresh releases may confirm it. QUIET says that the loss of this pair, along
these transcripts, is within the claim: of other pairs it says nothing. What the tap could not follow is NOT COVERED.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, final

from dpverdict.audit.exact.comparison import compared_above, comparison_of
from dpverdict.audit.exact.spending import held_to
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.implementation.tap.pair_loss import ROUNDING, PairLoss
from dpverdict.audit.implementation.tap.run_comparison import SHOWN, PairComparison, TapFinding, TapRow
from dpverdict.audit.losses.base import ExactLoss
from dpverdict.audit.scores.score import Score
from dpverdict.errors import DpverdictError
from dpverdict.mechanisms.core.bounds import concentrated
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.numerics.text import rounded_text


class TapStatus(enum.Enum):
    """The four answers."""

    REFUTED = "the claim is false: the loss of this pair of datasets breaks it"
    FINDING = "something that a correct mechanism does not do was seen; fresh releases may confirm it"
    QUIET = "the loss of this pair, along these transcripts, is within the claim: nothing is certified"
    NOT_COVERED = "the tap could not follow the function, and says nothing about it"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TapVerdict:
    """What the runs of one function on one pair of datasets show.

    Attributes:
        name: of the function.
        claim: in words.
        status: one of four, as of the draws that were followed.
        reason: why, in a sentence.
        epsilon: the loss of the pair along the transcript; infinite where it is, or for Gaussian noise that moved; None
            if it is not known.
        mu: the same of Gaussian noise alone; None for other noise.
        loss: in words.
        exact: whether it is a loss of the outcome, and not only of the values that the outcome is made of.
        spent: the sum of the epsilons that library calls declare, a note; None if none does.
        rows: the places where noise was added.
        findings, open: see `PairComparison`.
        uncovered: what could not be followed.
        runs: of the function.
        seed: of the recorded draws.
        score: tells releases on the two datasets apart, by what was seen; None if there is none. JSON has it not.
    """

    name: str
    claim: str
    status: TapStatus
    reason: str
    epsilon: float | None
    mu: float | None
    loss: str
    exact: bool
    spent: float | None
    rows: tuple[TapRow, ...]
    findings: tuple[TapFinding, ...]
    open: tuple[str, ...]
    uncovered: tuple[str, ...]
    runs: int
    seed: int
    score: Score | None = field(default=None, compare=False, repr=False)

    @property
    def exit_code(self) -> int:
        """1 for REFUTED, 3 for everything else: nothing is certified from one pair."""
        return 1 if self.status is TapStatus.REFUTED else 3

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; an infinite number as text."""
        found = asdict(replace(self, score=None))
        del found["score"]
        found["status"] = self.status.name
        return {key: _json_value(value) for key, value in found.items()}

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> TapVerdict:
        """The same, from JSON values."""
        given = dict(fields)
        given["status"] = TapStatus[given["status"]]
        given["rows"] = tuple(TapRow(**row) for row in given["rows"])
        given["findings"] = tuple(TapFinding(**one) for one in given["findings"])
        for name in ("open", "uncovered"):
            given[name] = tuple(given[name])
        for name in ("epsilon", "mu", "spent"):
            given[name] = math.inf if given[name] == "inf" else given[name]
        return TapVerdict(**given)

    def table(self) -> list[tuple[str, str, str, str, str]]:
        """Which call, which line, what was promised, what was measured; a mark beside what is wrong."""
        rows = [("!" if row.wrong else "", row.call, row.where, row.promised, row.measured) for row in self.rows]
        rows += [("!", one.what, one.where, one.promised, one.measured) for one in self.findings]
        return rows

    def text(self) -> str:
        """The answer and the table, for a terminal."""
        lines = [f"{self.status.name.replace('_', ' ')}: {self.name} claims {self.claim}: {self.reason}", ""]
        table = [("", "call", "line", "promised", "measured"), *self.table()]
        if len(table) > 1:
            widths = [min(44, max(len(row[i]) for row in table)) for i in range(5)]
            for row in table:
                cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                lines.append("  ".join(cells).rstrip())
            lines.append("")
        lines.append(f"loss of this pair: {self.loss}" + (", exact for this pair" if self.exact else ""))
        if self.spent is not None:
            lines.append(f"declared by the calls together: eps {self.spent:.6g} (a sum, not a privacy loss)")
        lines += [f"open: {one}" for one in self.open]
        lines += [f"not covered: {one}" for one in self.uncovered]
        lines.append(f"{self.runs} runs, seed {self.seed}")
        return "\n".join(lines)


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else str(value)
    if isinstance(value, tuple | list):
        return [_json_value(one) for one in value]
    if isinstance(value, dict):
        return {key: _json_value(one) for key, one in value.items()}
    return value


def decide(
    name: str,
    claim: Guarantee,
    compared: Sequence[PairComparison],
    *,
    unlike: str | None,
    agreed: int,
    runs: int,
    seed: int,
) -> TapVerdict:
    """The verdict on what was compared.

    Args:
        name: of the function.
        claim: the guarantee.
        compared: one for each recorded run.
        unlike: how a second run on the same data differed, or why there was none; None if it did not.
        agreed: of a function of which no draw was seen, how many more runs on each dataset gave what the first gave.
        runs, seed: as they are shown.
    """
    findings = tuple(dict.fromkeys(one for run in compared for one in run.findings))
    opened = tuple(dict.fromkeys(one for run in compared for one in run.open))
    uncovered = tuple(dict.fromkeys(one for run in compared for one in run.uncovered))
    rows = compared[0].rows if compared else []
    held = [(breaks_claim(run.loss, claim), run) for run in compared]
    worst = max(held, key=lambda one: (one[0] is True, _rank_of_loss(one[1].loss)), default=None)
    loss = PairLoss() if worst is None else worst[1].loss
    exact = worst is not None and unlike is None and worst[1].complete and not (findings or opened or uncovered)
    exact = exact and len({tuple(run.gaps) for run in compared}) == 1 and not any(run.sampled for run in compared)
    no_draws = bool(compared) and unlike is None and all(run.drawless for run in compared)
    verdict = _Findings(claim, findings, opened, uncovered, unlike, loss)
    if no_draws and findings and not uncovered and not opened:
        enough = agreed >= repeats_needed(claim)
        status = TapStatus.REFUTED if enough else TapStatus.FINDING
        reason = f"no draw was seen, {agreed + 1} runs on each dataset gave one outcome each, and they differ"
        reason += f" (error {rounded_text(NO_NOISE_ERROR)})" if enough else ""
        loss = PairLoss()
        loss.add_certain_difference("no noise")
    else:
        shown = worst is not None and not uncovered and not opened and breaks_claim(worst[1].shown, claim) is True
        status, reason = verdict.answer(held, exact=exact, shown=shown)
    known = not (uncovered or unlike) or loss.infinite is not None
    return TapVerdict(
        name=name,
        claim=claim.describe(),
        status=status,
        reason=reason,
        epsilon=(loss.epsilon + loss.approached + loss.bounded) if known and not loss.unknown else None,
        mu=math.sqrt(loss.mu_squared) if loss.mu_squared and not loss.unknown else None,
        loss=loss.describe() if compared else "not known",
        exact=exact and status is not TapStatus.NOT_COVERED,
        spent=compared[0].spent if compared else None,
        rows=tuple(rows[:SHOWN]),
        findings=findings,
        open=opened,
        uncovered=(*uncovered, *(() if unlike is None else (unlike,))),
        runs=runs,
        seed=seed,
        score=None if worst is None else worst[1].score or compared[0].score,
    )


NO_NOISE_ERROR: Final = 1e-6
"""With which a function that keeps its claim is said to have no noise."""


def repeats_needed(claim: Guarantee) -> int:
    """How many more runs on each of two datasets have to give what the first gave, if the two outcomes differ.

    Let b be what the first run on the neighbour gave, and q = P'(b). The claim says P(b) >= e^-eps (q - delta), so both
    further runs of a pair agree with probability at most q (1 - e^-eps (q - delta)); for some of the eps at which the
    claim bounds delta that is smallest at its largest, over q. The probability of n such pairs is its n-th power.
    """
    levels = [float(claim.epsilon)] if isinstance(claim, PureDP | ApproximateDP) else [0.25 * k for k in range(1, 33)]
    least = 1.0
    for epsilon in levels:
        delta, kept = float(claim.delta_upper(epsilon)), math.exp(-epsilon)
        q = min(1.0, (1 / kept + delta) / 2)
        least = min(least, max(delta, q * (1 - kept * (q - delta))) * (1 + 1e-12))
    return 10**9 if least >= 1 else math.ceil(math.log(NO_NOISE_ERROR) / math.log(least))


def _rank_of_loss(loss: PairLoss) -> float:
    return loss.epsilon + loss.approached + loss.bounded if math.isfinite(loss.epsilon) else 1e300 + loss.mu_squared


@final
@dataclass(frozen=True, slots=True)
class _Findings:
    claim: Guarantee
    findings: Sequence[TapFinding]
    open: Sequence[str]
    uncovered: Sequence[str]
    unlike: str | None
    loss: PairLoss

    def answer(
        self, held: Sequence[tuple[bool | None, PairComparison]], *, exact: bool, shown: bool
    ) -> tuple[TapStatus, str]:
        """The status, and why."""
        broken = any(one is True for one, _ in held)
        kept = bool(held) and all(one is False for one, _ in held)
        said = f"the loss of this pair is {self.loss.describe()}"
        if self.unlike is not None:
            return TapStatus.NOT_COVERED, self.unlike
        if broken and exact and shown:
            return TapStatus.REFUTED, f"{said}, and every value that moved stands in the outcome"
        if self.findings and not self.uncovered:
            first = self.findings[0]
            where = f" at {first.where}" if first.where else ""
            return TapStatus.FINDING, f"{first.what}{where}: {first.measured}"
        if self.uncovered:
            return TapStatus.NOT_COVERED, self.uncovered[0]
        if self.open:
            return TapStatus.NOT_COVERED, self.open[0]
        if broken and any(run.sampled and run.spent is None for _, run in held):
            why = "but earlier draws that pick or order records may make it smaller"
            return TapStatus.NOT_COVERED, f"{said} along this transcript, {why}"
        if broken:
            return TapStatus.FINDING, f"{said}, along this transcript"
        if kept:
            return TapStatus.QUIET, f"{said}, within the claim; nothing is certified from one pair"
        if self.loss.unknown:
            return TapStatus.NOT_COVERED, f"not known: {'; '.join(dict.fromkeys(self.loss.unknown))}"
        return TapStatus.NOT_COVERED, f"{said}, which could not be compared with the claim"


def _relaxed_claim(claim: Guarantee) -> Guarantee:
    """The claim, larger by `ROUNDING`: sums of data are rounded, and that refutes nothing."""
    more = 1 + Fraction(ROUNDING)
    match claim:
        case PureDP():
            return PureDP(claim.epsilon * more)
        case ApproximateDP():
            return ApproximateDP(claim.epsilon * more, min(claim.delta * more, Fraction(1)))
        case GaussianDP():
            return GaussianDP(claim.mu * more)
        case ZeroConcentratedDP():
            return ZeroConcentratedDP(claim.rho * more)
        case RenyiDP():
            return RenyiDP(claim.order, claim.epsilon * more)


def breaks_claim(loss: PairLoss, claim: Guarantee) -> bool | None:
    """Whether the loss breaks the claim: True, False, or None if that is not known."""
    if loss.infinite is not None:
        return True
    claim = _relaxed_claim(claim)
    rest = loss.approached + loss.bounded
    if isinstance(claim, ZeroConcentratedDP) and loss.unknown and not rest and not loss.losses:
        return Fraction(loss.mu_squared / 2) > claim.rho * (1 + Fraction(1, 10**9))
    if isinstance(claim, PureDP):  # the largest losses of independent parts add up
        if loss.epsilon + loss.approached + loss.bounded <= float(claim.epsilon):
            return None if loss.unknown else False
        return True if loss.epsilon + loss.approached > float(claim.epsilon) or not loss.unknown else None
    try:
        whole = loss.whole
        if isinstance(claim, GaussianDP) and isinstance(whole, ExactLoss) and comparison_of(claim, whole).broken:
            return True  # one epsilon decides, which is found sooner than mu
        account = held_to(whole, claim)
    except DpverdictError:
        return None
    if account.status is Status.REFUTED:
        return True
    if loss.unknown:
        if isinstance(claim, ApproximateDP) and loss.mu_squared and not loss.losses and not rest:
            _, at_one = concentrated(Fraction(loss.mu_squared / 2), "", "", ())
            found = compared_above(claim, at_one)
            return False if found is not None and found.kept else None
        return None
    if rest:
        pure = isinstance(claim, ApproximateDP) and loss.epsilon + rest <= float(claim.epsilon)
        return False if pure else None
    return False if account.status is Status.CERTIFIED else None
