"""Replay the witness of a sequential test: its bettor, on fresh pairs.

The score is FROZEN: it is the one of the witness, as it was learned when the claim fell, and nothing is learned again.
What the claim allows is computed again from the claim, not read. The bettor starts with a wealth of 1 and, as its first
bet, the stake that it had reached; a forged stake or score can lose power, never validity, because both are fixed
before the fresh pairs are drawn. So the error probability of the replay holds however early one stops: it is refuted
again as soon as the wealth reaches 1/level, and not refuted if the pairs run out before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from dpverdict.audit.curve_payoff import Payoff
from dpverdict.audit.scores import Score
from dpverdict.audit.sequential_blocks import next_end
from dpverdict.audit.sequential_bounds import bettor
from dpverdict.audit.trials import Sampler

MOST_PER_PAIR: Final = 5
"""Fresh pairs at most, for every pair that the test had drawn: where a claim fell early was partly luck."""
FEWEST_MOST: Final = 500


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bets:
    """What the bettor made of the fresh pairs.

    Attributes:
        pairs: drawn until the target was reached; all of them if it was not.
        p_value: 1 over the largest wealth.
        log_wealth: at the last pair.
    """

    pairs: int
    p_value: float
    log_wealth: float


def replay_bets(
    evidence: Mapping[str, Any],
    payoff: Payoff,
    score: Score,
    sides: tuple[Sampler, Sampler],
    *,
    level: float,
    most: int | None,
) -> Bets:
    """Let the bettor of a witness bet on fresh pairs until its wealth is 1/level, or the pairs run out.

    Args:
        evidence: of the witness; only its stake and its number of pairs are read.
        payoff: made from the claim.
        score: of the witness.
        sides: the mechanism on the dataset and on the neighbour.
        level: the error probability.
        most: pairs; five times as many as the test had drawn if not given.
    """
    stake, drawn = float(evidence["stake"]), int(evidence["pairs"])
    if not (math.isfinite(stake) and stake >= 0 and drawn > 0):
        raise ValueError("stake and pairs do not belong to a bettor")
    most = max(MOST_PER_PAIR * drawn, FEWEST_MOST) if most is None else most
    wealth = bettor(payoff.largest_loss, first=min(stake * payoff.largest_loss, 0.5))
    target, best, done = -math.log(level) + 1e-9, 0.0, 0
    while done < most:
        size = min(next_end(done), most) - done
        of_p, of_q = (
            side.scores(f"replay {done} {name}", size, score)
            for side, name in zip(sides, ("dataset", "neighbour"), strict=True)
        )
        wealth, path = wealth.bet(payoff.of_dataset(of_p) - payoff.of_neighbour(of_q) - payoff.allowed)
        best = max(best, float(path.max()))
        if best >= target:
            first = int((path >= target).argmax())
            return Bets(pairs=done + first + 1, p_value=math.exp(-best), log_wealth=float(path[first]))
        done += size
    return Bets(pairs=done, p_value=math.exp(-best), log_wealth=wealth.log_wealth)
