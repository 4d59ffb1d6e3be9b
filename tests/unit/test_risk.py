"""What an attacker attains at a base rate: against every test of small laws, and normal laws in closed form.

No number of an attacker may be below what some test attains, and none of a refuted claim above it.
"""

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpverdict import risk as risks
from dpverdict.audit import FiniteLoss, GaussianLoss, LaplaceLoss, certify
from dpverdict.audit.losses.base import AddRemoveLoss
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import CorrelatedGaussian, broken
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, PureDP, parse_guarantee
from dpverdict.risk import Attack, Risk, risk_of

Law = tuple[Fraction, ...]
RATES = [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
P: Law = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 10), Fraction(1, 10))
Q: Law = (Fraction(1, 10), Fraction(3, 10), Fraction(2, 10), Fraction(4, 10))


def events(p: Law, q: Law) -> list[tuple[Fraction, Fraction]]:
    """The share of false alarms and that of members found, of every set of outcomes on which one may accuse.

    Left out are those that another one beats, with no more false alarms and no fewer members found.
    """
    places = range(len(p))
    sets = itertools.chain.from_iterable(itertools.combinations(places, size) for size in range(len(p) + 1))
    all_ = sorted(
        ((sum((q[i] for i in s), Fraction(0)), sum((p[i] for i in s), Fraction(0))) for s in sets),
        key=lambda at: (at[0], -at[1]),
    )
    kept = all_[:1]
    for at in all_[1:]:
        if at[1] > kept[-1][1]:
            kept.append(at)
    return kept


def best_found(p: Law, q: Law, weights: tuple[Fraction, Fraction], level: Fraction) -> Fraction:
    """The most members that any test finds of which weights . (false alarms, found) is the level: two events mixed."""
    best = Fraction(-1)
    known = events(p, q)
    for one, other in itertools.product(known, repeat=2):
        here, there = (weights[0] * at[0] + weights[1] * at[1] for at in (one, other))
        if here <= level <= there:
            share = Fraction(0) if here == there else (level - here) / (there - here)
            best = max(best, (1 - share) * one[1] + share * other[1])
    return best


def best_of_both(p: Law, q: Law, weights: tuple[Fraction, Fraction], level: Fraction) -> Fraction:
    return max(best_found(p, q, weights, level), best_found(q, p, weights, level))


def check_against_every_test(found: Risk, p: Law, q: Law) -> None:
    """Every number encloses what the best of all tests attains, closely."""
    rate = found.base_rate
    for one in found.attacks:
        best = best_of_both(p, q, (Fraction(1), Fraction(0)), one.false_alarms)
        right = rate * best / (rate * best + (1 - rate) * one.false_alarms)
        check_share(one.found, best)
        check_share(one.right, right)
    assert found.as_many is not None
    as_many = best_of_both(p, q, (1 - rate, rate), rate)  # of the accusations, as many as suspects, this share is true
    check_share(found.as_many.right, as_many)
    check_share(found.as_many.found, as_many)
    pairs = [(x, y) for one, other in ((p, q), (q, p)) for y, x in events(one, other) if x > 0]
    certain = any(y == 0 for _, y in pairs)
    assert (found.most is None) is certain
    if found.most is not None:
        check_share(found.most, max(rate * x / (rate * x + (1 - rate) * y) for x, y in pairs))


def check_share(bounds: tuple[Fraction, Fraction], truth: Fraction) -> None:
    assert bounds[0] <= truth <= bounds[1]
    assert bounds[1] - bounds[0] <= truth / 1000


@pytest.mark.parametrize("rate", RATES)
def test_the_risk_of_small_laws_is_that_of_the_best_of_all_tests(rate: Fraction) -> None:
    levels = [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 4), Fraction(1)]
    for p, q in ((P, Q), (Q, P), ((*P, Fraction(0)), (*Q[:3], Fraction(3, 10), Fraction(1, 10)))):
        check_against_every_test(FiniteLoss(p, q).risk(rate, false_alarms=levels), p, q)


laws = st.lists(st.integers(1, 20), min_size=4, max_size=4).map(lambda w: tuple(Fraction(x, sum(w)) for x in w))


@given(
    p=laws,
    q=laws,
    rate=st.fractions(Fraction(1, 10**6), Fraction(999, 1000)),
    level=st.fractions(Fraction(1, 10**6), 1),
)
@example(p=(Fraction(1, 4),) * 4, q=(Fraction(1, 4),) * 4, rate=Fraction(1, 2), level=Fraction(1))
def test_the_risk_of_any_small_laws_is_that_of_the_best_of_all_tests(
    p: Law, q: Law, rate: Fraction, level: Fraction
) -> None:
    check_against_every_test(FiniteLoss(p, q).risk(rate, false_alarms=[level]), p, q)


FAULTS: dict[str, Callable[[Risk], Risk]] = {
    "alpha and beta swapped": lambda found: changed(found, lambda one: dataclasses.replace(
        one, found=(one.false_alarms, one.false_alarms))),
    "what is missed taken for what is found": lambda found: changed(found, lambda one: dataclasses.replace(
        one, found=(1 - one.found[1], 1 - one.found[0]))),
    "prior inverted": lambda found: changed(found, lambda one: Attack.of(
        1 - found.base_rate, one.false_alarms, (1 - one.found[1], 1 - one.found[0]))),
    "rounded to the unsafe side": lambda found: changed(found, lambda one: dataclasses.replace(
        one, right=(one.right[0] * Fraction(999, 1000), one.right[0] * (1 - Fraction(1, 10**15))))),
    "the ratio of the other order": lambda found: dataclasses.replace(
        found, most=None if found.most is None else (found.most[0] / 2, found.most[1] / 2)),
    "as many taken for the attack at that many false alarms": lambda found: dataclasses.replace(
        found, as_many=found.attacks[0]),
}  # fmt: skip


def changed(found: Risk, change: Callable[[Attack], Attack]) -> Risk:
    return dataclasses.replace(found, attacks=tuple(map(change, found.attacks)))


@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_risk_is_found(name: str) -> None:
    found = FiniteLoss(P, Q).risk("1/10", false_alarms=["1/4", "1/100"])
    check_against_every_test(found, P, Q)
    with pytest.raises(AssertionError):
        check_against_every_test(FAULTS[name](found), P, Q)


@pytest.mark.parametrize("fault", ["prior", "formula", "one order"])
def test_a_wrong_computation_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = risks._right
    if fault == "prior":
        monkeypatch.setattr(risks, "_right", lambda rate, alarms, found: right(1 - rate, alarms, found))
    elif fault == "formula":
        monkeypatch.setattr(risks, "_right", lambda rate, alarms, found: right(rate, found, alarms))
    else:
        monkeypatch.setattr(FiniteLoss, "reversed", lambda self: self)
    with pytest.raises(AssertionError):
        check_both_ways()


def check_both_ways() -> None:
    for p, q in ((P, Q), (Q, P)):  # of which one is the worse
        check_against_every_test(FiniteLoss(p, q).risk("1/10"), p, q)


# normal laws, in closed form -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", ["0.1", "1", "3"])
@pytest.mark.parametrize("rate", ["0.001", "0.3", "0.7"])
def test_the_risk_of_gaussian_noise_is_that_of_the_closed_form(mu: str, rate: str) -> None:
    found = GaussianLoss(mu).risk(rate)
    with mpmath.workdps(40):
        p, m = mpmath.mpf(rate), mpmath.mpf(mu)

        def power(alpha: mpmath.mpf) -> mpmath.mpf:
            normal = -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * alpha) if alpha != 0.5 else mpmath.mpf(0)
            return mpmath.ncdf(normal + m)

        for one in found.attacks:
            alpha = mpmath.mpf(one.false_alarms.numerator) / one.false_alarms.denominator
            truth = p * power(alpha) / (p * power(alpha) + (1 - p) * alpha)
            assert one.found[0] <= as_exact(power(alpha)) <= one.found[1]
            assert one.right[0] <= as_exact(truth) <= one.right[1]
        low, high = mpmath.mpf(0), min(mpmath.mpf(1), p / (1 - p))
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (low, middle) if p * power(middle) + (1 - p) * middle > p else (middle, high)
        assert found.as_many is not None
        assert found.as_many.right[0] <= as_exact(power(high)) <= found.as_many.right[1]
        assert found.as_many.right[1] - found.as_many.right[0] < Fraction(1, 1000)
    assert found.most is None
    assert found.limit


def as_exact(number: mpmath.mpf) -> Fraction:
    mantissa, exponent = number.man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def test_pure_privacy_has_a_bound_without_a_floor_and_every_delta_takes_it_away() -> None:
    rate = Fraction(1, 1000)
    pure = LaplaceLoss(["1"]).risk(rate)
    with mpmath.workdps(60):
        odds = mpmath.e / 999
        truth = as_exact(odds / (1 + odds))
    assert pure.most is not None
    assert pure.most[0] <= truth <= pure.most[1] <= truth * (1 + Fraction(1, 10**9))
    assert "about whom it accuses" in pure.headline
    assert not pure.limit
    for claim in (ApproximateDP(1, "1e-300"), GaussianDP("0.001"), parse_guarantee("rho=0.01")):
        assert claim.risk(rate).most is None
        assert "may be right every time" in claim.risk(rate).limit
    assert ApproximateDP(1, 0).risk(rate).most == PureDP(1).risk(rate).most


@pytest.mark.parametrize("claim", ["eps=1", "eps=1, delta=1e-6", "mu=1", "rho=0.5", "order=8, eps=1", "eps=2000"])
@pytest.mark.parametrize("rate", RATES)
def test_what_a_claim_allows_bounds_every_attack_that_keeps_it(claim: str, rate: Fraction) -> None:
    """The attack on (epsilon, delta) that is worst of all: everything shown with probability delta, else a coin."""
    guarantee = parse_guarantee(claim)
    found = guarantee.risk(rate)
    for one in found.attacks:
        assert one.found[1] >= 1 - Fraction(guarantee.beta_lower(float(one.false_alarms)))
    if isinstance(guarantee, PureDP | ApproximateDP) and guarantee.epsilon == 1:
        delta = guarantee.delta if isinstance(guarantee, ApproximateDP) else Fraction(0)
        keep, give = (1 - delta) * Fraction(731058578, 10**9), (1 - delta) * Fraction(268941422, 10**9)
        p, q = (delta, keep, give, Fraction(0)), (Fraction(0), give, keep, delta)  # keep/give is just below e
        for one in found.attacks:
            assert one.found[1] >= best_of_both(p, q, (Fraction(1), Fraction(0)), one.false_alarms)
        assert found.as_many is not None
        assert found.as_many.right[1] >= best_of_both(p, q, (1 - rate, rate), rate)


def test_an_attack_is_not_more_often_right_where_it_accuses_more() -> None:
    for loss in (GaussianLoss(1), LaplaceLoss(["1", "2"]), FiniteLoss(P, Q)):
        levels = [Fraction(1, 10**k) for k in range(6)]
        found = loss.risk("0.01", false_alarms=levels)
        rights = [one.right[1] for one in found.attacks]
        assert rights == sorted(rights)
        low, high = loss.risk("0.001").as_many, loss.risk("0.1").as_many
        assert low is not None
        assert high is not None
        assert low.right[0] < high.right[1]


def test_both_orders_of_a_pair_are_looked_at() -> None:
    loss = AddRemoveLoss(remove=FiniteLoss(P, Q), add=FiniteLoss(Q, P))
    check_against_every_test(loss.risk("0.1"), P, Q)


# words ---------------------------------------------------------------------------------------------------------------


def shares_said(text: str) -> Iterator[Fraction]:
    """Every share that a sentence states of an attacker."""
    for times, all_ in re.findall(r"at (?:most|least) ([\d.]+) times? in (\d+)", text):
        yield Fraction(times) / Fraction(all_)
    for percent in re.findall(r"at (?:most|least) ([\d.e-]+) %", text):
        yield Fraction(percent) / 100


@given(
    share=st.fractions(Fraction(1, 10**7), 1),
    rate=st.fractions(Fraction(1, 10**7), Fraction(999, 1000)),
    shown=st.booleans(),
)
@example(share=Fraction(1, 8) + Fraction(1, 10**30), rate=Fraction(1, 1000), shown=False)
@example(share=Fraction(999999999999, 10**12), rate=Fraction(1, 1000), shown=True)
def test_numbers_in_words_are_rounded_to_the_safe_side(share: Fraction, rate: Fraction, shown: bool) -> None:
    attack = Attack(false_alarms=rate, found=(share, share), right=(share, share))
    found = Risk(base_rate=rate, attacks=(attack,), as_many=attack, most=None, how="", shown=shown)
    for text in (found.headline, found.success):
        said = list(shares_said(text))
        assert said or "every time" in text
        assert all(one <= share if shown else one >= share for one in said) or share == 1
        assert all(abs(one - share) <= max(share / 2, Fraction(1, 10**6)) for one in said)


def test_rounding_to_nearest_is_found() -> None:
    """The planted fault of the test above: 1 time in 9 where 1 in 8.51 are right is too little."""
    share = 1 / Fraction("8.51")
    attack = Attack(false_alarms=share, found=(share, share), right=(share, share))
    found = Risk(base_rate=share, attacks=(), as_many=attack, most=None, how="")
    assert "at most 1 time in 8 " in found.headline
    assert "at least 1 time in 9 " in dataclasses.replace(found, shown=True).headline


def test_a_bound_that_bounds_nothing_is_not_said_to_be_attained() -> None:
    """With distinct laws an attacker is right every time; where nothing is known it may be."""
    unknown = risk_of("0.001", lambda alpha: (Fraction(0), Fraction(1)), None, how="")
    assert "may be right every time" in unknown.headline
    known = dataclasses.replace(risk_of("0.001", lambda alpha: (Fraction(0), Fraction(0)), None, how=""), shown=True)
    assert "is right" in known.headline


def test_sentences_say_what_they_rest_on() -> None:
    guarantee: Guarantee = ApproximateDP(1, "1e-6")
    assert guarantee.risk("0.001").headline.startswith("Under eps=1, delta=1e-6, an attacker who suspects 1 in 1000")
    certified = certify(CorrelatedGaussian(dim=3, mu=1)).risk("0.001")
    assert certified.headline.startswith("An attacker who suspects 1 in 1000 and accuses as many is right at most")
    assert "certified" in certified.how


def test_a_refuted_claim_says_what_an_attacker_attains_at_least() -> None:
    wrong = broken.by_name("M3").make(5, 1)
    verdict = certify(wrong, "mu=1")
    found = verdict.risk("0.001")
    assert found.shown
    assert verdict.witness is not None
    p, q = Fraction(verdict.witness.probability.lower), Fraction(verdict.witness.neighbour_probability.upper)
    assert found.attacks[0].right[0] == p / (p + 999 * q)
    assert "at least" in found.headline
    assert "at most" not in str(found)


@pytest.mark.parametrize("rate", [0, 1, -0.5, 2, "x", "nan"])
def test_a_base_rate_is_a_share(rate: object) -> None:
    for ask in (GaussianLoss(1).risk, PureDP(1).risk):
        with pytest.raises(InvalidValue):
            ask(rate)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="false_alarms"):
        GaussianLoss(1).risk("0.1", false_alarms=[0])


def test_a_card_has_the_sentences_and_no_markup_of_others() -> None:
    found = risk_of("0.01", lambda alpha: (1 - alpha, 1 - alpha), None, how="<script>", provided="<b>")
    text = found._repr_html_()
    assert "<script>" not in text
    assert "<b>" not in text
    assert "1 in 100" in text
    assert text.count("<tr") == 1 + len(found.rows())
