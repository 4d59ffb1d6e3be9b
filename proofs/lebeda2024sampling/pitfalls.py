"""The pitfalls as statements: each says in our words what goes wrong, and shows it in exact numbers.

The text of the paper was not supplied: the statements are named after what they say, not after numbers of the paper,
and their examples are ours. Notation: M = (1 - q) Q + q P is the output of a sampled step with the record, Q that
without it; remove is M against Q and add is Q against M; s is the noise multiplier of a Gaussian step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from flint import arb

from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import Real, ball
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.proofs.checks.boxes import equal, smaller
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Plant, statement

PAPER = "lebeda2024sampling"
RESTORED = "the text of the paper was not supplied: the words and the example are ours"

NORMAL = BallNormal()

Law = tuple[Fraction, ...]
Profile = Callable[[str, int], Fraction]

ODDS, RATE, LEVEL = Fraction(3), Fraction(1, 2), Fraction(4, 3)


def hockey_stick(first: Law, second: Law, steps: int) -> Fraction:
    """The sum of (P - e^epsilon Q)_+ over all outcomes of so many independent steps, at e^epsilon = 4/3."""
    places = itertools.product(range(len(first)), repeat=steps)
    differences = (math.prod(first[i] for i in at) - LEVEL * math.prod(second[i] for i in at) for at in places)
    return sum((max(Fraction(0), Fraction(gap)) for gap in differences), Fraction(0))


def laws() -> tuple[Law, Law]:
    """Randomised response with odds 3, with the record on half of the runs, and without it."""
    present, absent = (ODDS / (1 + ODDS), 1 / (1 + ODDS)), (1 / (1 + ODDS), ODDS / (1 + ODDS))
    mixed = tuple((1 - RATE) * b + RATE * a for a, b in zip(present, absent, strict=True))
    return mixed, absent


def in_each_order(order: str, steps: int) -> Fraction:
    """delta of the product pair of one order: the same record is present, or absent, at all steps."""
    mixed, absent = laws()
    return hockey_stick(mixed, absent, steps) if order == "remove" else hockey_stick(absent, mixed, steps)


def exchanged(order: str, steps: int) -> Fraction:
    """The orders exchanged."""
    return in_each_order("add" if order == "remove" else "remove", steps)


def of_the_worse_step(order: str, steps: int) -> Fraction:
    """The order that is the worse one for one step, for any number of steps."""
    return in_each_order("remove", steps)


@statement(
    paper=PAPER,
    number="order",
    restored=RESTORED,
    kind=StatementKind.PROPOSITION,
    expected=Standing.HOLDS,
    text="(Our words and example.) The order of a sampled pair that is the worse one for a single step need not be the "
    "worse one after composition. Randomised response with odds 3, q = 1/2, e^epsilon = 4/3: for one step remove is "
    "the worse order, 1/6 against 1/12; for two steps it is add, 11/48 against 1/6.",
    formula=r"\delta_{\mathrm{rem}}^{(1)} = 1/6 > \delta_{\mathrm{add}}^{(1)} = 1/12,\quad "
    r"\delta_{\mathrm{rem}}^{(2)} = 1/6 < \delta_{\mathrm{add}}^{(2)} = 11/48",
    printed=in_each_order,
    planted=(
        Plant("one step: remove is the worse order", "the orders exchanged", exchanged),
        Plant("two steps: add is the worse order", "the worse order of one step taken for all", of_the_worse_step),
        Plant("two steps: 11/48", "the orders exchanged", exchanged),
        Plant("two steps: 1/6", "the orders exchanged", exchanged),
    ),
    named=(
        "one step: remove is the worse order",
        "two steps: add is the worse order",
        "two steps: 11/48",
        "two steps: 1/6",
    ),
)
def order(profile: Profile) -> Findings:
    """All outcomes of one step and of two, in rationals."""
    scope = "odds 3, q = 1/2, e^epsilon = 4/3"
    numbers = {(o, t): Real.of(profile(o, t)) for o in ("remove", "add") for t in (1, 2)}
    yield smaller("one step: remove is the worse order", numbers["add", 1], numbers["remove", 1], scope=scope)
    yield smaller("two steps: add is the worse order", numbers["remove", 2], numbers["add", 2], scope=scope)
    yield equal("two steps: 11/48", numbers["add", 2], Real.of(Fraction(11, 48)), scope=scope)
    yield equal("two steps: 1/6", numbers["remove", 2], Real.of(Fraction(1, 6)), scope=scope)


def scale_of(sampling: str) -> Fraction:
    """Of the pair ((1 - q) N(0, s^2) + q N(1, s^2), N(0, s^2)) that is realised, in units of the clipping norm.

    Without replacement the slot of the record is filled by another one: with all others at -1 and the record at +1
    against -1, or against its slot filled by one of the others, the sum moves by 2.
    """
    return Fraction(1) if sampling == "poisson" else Fraction(1, 2)


@statement(
    paper=PAPER,
    number="schemes",
    restored=RESTORED,
    kind=StatementKind.PROPOSITION,
    expected=Standing.HOLDS,
    text="(Our words and example.) A guarantee computed for Poisson sampling does not hold for batches of fixed size "
    "drawn without replacement. Noise multiplier 1, rate 0.01, 1000 steps, delta = 1e-5: with Poisson sampling the "
    "dominating pair keeps epsilon = 1.83 in the order remove; without replacement a realised pair breaks epsilon = 6.",
    formula=r"\delta_{\mathrm{Poisson}}(1.83) < 10^{-5} < \delta_{\mathrm{WOR}}(6)",
    printed=scale_of,
    planted=(
        Plant("Poisson sampling keeps 1.83", "the record moves the sum by 2", lambda sampling: Fraction(1, 2)),
        Plant("without replacement 6 is broken", "the record moves the sum by 1", lambda sampling: Fraction(1)),
    ),
    named=("Poisson sampling keeps 1.83", "without replacement 6 is broken"),
)
def schemes(scale: Callable[[str], Fraction]) -> Findings:
    """Both by the certified profile of 1000 sampled steps."""

    def delta(sampling: str, epsilon: Fraction) -> Real:
        loss = poisson_sampled(GaussianLoss(1 / scale(sampling)), "0.01", 1000).remove
        return Real(lambda: loss.profile(epsilon, 54))

    scope, level = "s = 1, q = 0.01, 1000 steps, delta = 1e-5", Real.of(Fraction(1, 10**5))
    yield smaller("Poisson sampling keeps 1.83", delta("poisson", Fraction(183, 100)), level, scope=scope)
    yield smaller("without replacement 6 is broken", level, delta("without replacement", Fraction(6)), scope=scope)


STEPS, THRESHOLD, Q = 1000, 126, Fraction(1, 100)


def moved_to(relation: str) -> Fraction:
    """What the record of the neighbour contributes where the canary contributes 1: nothing, or the opposite."""
    return Fraction(0) if relation == "add-or-remove-one" else Fraction(-1)


def above(contribution: Fraction) -> arb:
    """P[x_1 + ... + x_1000 > 126] where x_t ~ (1 - q) N(0, 1) + q N(contribution, 1): a sum over the binomial."""
    total = arb(0)
    for times in range(STEPS + 1):
        weight = math.comb(STEPS, times) * Q**times * (1 - Q) ** (STEPS - times)
        total += ball(weight) * NORMAL.tail((THRESHOLD - times * ball(contribution)) / arb(STEPS).sqrt())
    return total


@statement(
    paper=PAPER,
    number="replace",
    restored=RESTORED,
    kind=StatementKind.PROPOSITION,
    expected=Standing.HOLDS,
    text="(Our words and example.) A guarantee for adding or removing a record does not hold for replacing one, with "
    "Poisson sampling as well. Noise multiplier 1, rate 0.01, 1000 steps, delta = 1e-5: the pair that dominates adding "
    "and removing keeps epsilon = 1.83 in both orders; with the record at 1 and its replacement at -1, all others at "
    "0, the event that the releases add up to more than 126 breaks epsilon = 2.5.",
    formula=r"\delta_{\pm}(1.83) < 10^{-5} < \Pr_{+1}[\textstyle\sum x_t > 126] - e^{2.5} \Pr_{-1}[\sum x_t > 126]",
    printed=moved_to,
    planted=(
        Plant("remove keeps 1.83", "the neighbour holds the opposite record", lambda relation: Fraction(-1)),
        Plant("add keeps 1.83", "the neighbour holds the opposite record", lambda relation: Fraction(-1)),
        Plant("replacing breaks 2.5", "the neighbour holds no record", lambda relation: Fraction(0)),
    ),
    named=("remove keeps 1.83", "add keeps 1.83", "replacing breaks 2.5"),
)
def replace(neighbour: Callable[[str], Fraction]) -> Findings:
    """Two certified profiles of 1000 sampled steps, and one event in balls."""
    scope, level = "s = 1, q = 0.01, 1000 steps, delta = 1e-5", Real.of(Fraction(1, 10**5))
    orders = poisson_sampled(GaussianLoss(1 - neighbour("add-or-remove-one")), Q, STEPS)
    for name, loss in (("remove", orders.remove), ("add", orders.add)):
        kept = Real(partial(loss.profile, Fraction(183, 100), 54))
        yield smaller(f"{name} keeps 1.83", kept, level, scope=scope)
    other = neighbour("replace-one")
    shown = Real(lambda: above(Fraction(1)) - ball(Fraction(5, 2)).exp() * above(other))
    yield smaller("replacing breaks 2.5", level, shown, scope=scope)
