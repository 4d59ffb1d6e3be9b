"""What a promise means for somebody who is suspected: how often an attacker is right, and whom it finds.

Before a release an attacker holds the share p of some people for members of the data: the base rate. It accuses those
whom a test names. A test with the share alpha of false alarms, among the others, finds at most the share
1 - beta(alpha) of the members, where beta is the trade-off function; by Bayes the share

    right(alpha) = p (1 - beta(alpha)) / (p (1 - beta(alpha)) + (1 - p) alpha)

of its accusations is then true, at most. As beta is convex, (1 - beta(alpha))/alpha falls with alpha, and so does this
bound: it holds for every test with at least so many false alarms, and for every test that accuses at least as many.
Over all tests it is bounded just where the privacy loss is: (1 - beta(alpha))/alpha <= exp(epsilon) gives
p exp(epsilon)/(p exp(epsilon) + 1 - p). Of Gaussian noise, and of every delta > 0, a test that accuses hardly anyone
may be right every time; a bound then takes a floor, here a share of false alarms, or as many accusations as suspects.

Shares are exact rational numbers, made of certain bounds on beta: what an attacker attains is rounded up where it is
bounded from above, and down where it is bounded from below.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import Final, final

from dpverdict.balls import Exact, ball, exactly, precision
from dpverdict.cards import framed, table
from dpverdict.errors import InvalidValue
from dpverdict.numerics.roots import Bracket, as_fraction, float_above, float_below
from dpverdict.numerics.text import at_least, at_most, decimal, plain_text

FALSE_ALARMS: Final = (Fraction(1, 100), Fraction(1, 1000))
"""At which attacks are stated unless others are asked for."""

LARGEST_LOSS: Final = 1000
"""A loss beyond this bounds nothing that a person can tell from certainty."""

_BITS: Final = 128
_CLOSE: Final = Fraction(1, 10**4)
"""How far apart both sides may be, relatively, of the attack that accuses as many as it suspects."""
_FAR: Final = Fraction(1, 10**8)
"""More than beta(alpha) is unknown by, relatively."""
_MOST_TRIALS: Final = 60
_ALWAYS: Final = "every time"
_FEW: Final = Fraction(1, 3)
_DIGITS: Final = 2
_MOST_DIGITS: Final = 8
_LARGEST_IN_WORDS: Final = 1000

Shares = tuple[Fraction, Fraction]
"""A share from below and from above."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """The best attack with some share of false alarms.

    Attributes:
        false_alarms: of those who are no members, the share that it accuses.
        found: of the members, the share that it accuses: from below and from above.
        right: of those whom it accuses, the share that are members: from below and from above.
    """

    false_alarms: Fraction
    found: Shares
    right: Shares

    @staticmethod
    def of(base_rate: Fraction, false_alarms: Fraction, missed: Shares) -> Attack:
        """The attack that misses the given share of the members, known from below and from above."""
        found = 1 - missed[1], 1 - missed[0]
        right = tuple(_right(base_rate, false_alarms, share) for share in found)
        return Attack(false_alarms=false_alarms, found=found, right=(right[0], right[1]))


def _right(base_rate: Fraction, false_alarms: Fraction, found: Fraction) -> Fraction:
    """The share of the accusations that is true; increasing in what is found."""
    true, false = base_rate * found, (1 - base_rate) * false_alarms
    return true / (true + false) if true + false else base_rate


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """What an attacker attains at one base rate.

    Attributes:
        base_rate: the share of the people in question that the attacker holds for members before the release.
        attacks: the best attacks at some shares of false alarms, which bound those with more of them.
        as_many: the best attack that accuses as many people as it suspects; None where nothing is known of it.
        most: how often the best of all attacks is right, from below and from above; None where no bound is known.
        how: by what the numbers are known.
        shown: whether an attack is known that attains the lower sides, which are then what is said; otherwise the
            upper sides are, which hold for every attack.
        provided: the condition under which they hold, in words, where it is not known to; "" where it is.
    """

    base_rate: Fraction
    attacks: tuple[Attack, ...]
    as_many: Attack | None
    most: Shares | None
    how: str
    shown: bool = False
    provided: str = ""

    def sentences(self) -> tuple[str, ...]:
        """What an attacker attains, in words, each number rounded to the side on which the sentence stays true.

        >>> risk_of("0.001", lambda alpha: (1 - alpha, 1 - alpha), (Fraction(1), Fraction(1)), how="").sentences()[0]
        'An attacker who suspects 1 in 1000 is right at most 1 time in 1000 about whom it accuses.'
        """
        return tuple(part for part in (self.headline, self.with_a_floor, self.success, self.limit) if part)

    @property
    def headline(self) -> str:
        """How often the attacker is right: whatever it does, or else where it accuses as many as it suspects."""
        bounded = self.most is not None and not (self.shown and self.as_many is not None)
        shares = self.most if bounded else None if self.as_many is None else self.as_many.right
        if shares is None:
            return ""
        who = f"{self.provided}, an" if self.provided else "An"
        how_many = "" if bounded else " and accuses as many"
        said = self._is_right(self._side_of(shares))
        return f"{who} attacker who suspects {_in_words(self.base_rate)}{how_many} {said} about whom it accuses."

    @property
    def with_a_floor(self) -> str:
        """How often it is right if it accuses as many as it suspects, where that is not the headline and is less."""
        if self.shown or self.most is None or self.as_many is None:
            return ""
        said = self._times(self.as_many.right[1])
        if said == self._times(self.most[1]):
            return ""
        return f"If it accuses as many as it suspects, it {self._is_right(self.as_many.right[1])}."

    @property
    def success(self) -> str:
        """How many members it finds."""
        side = "at least" if self.shown else "at most"
        said = [
            f"{decimal(100 * one.false_alarms, 3)} %{'' if i else ' false alarms it finds'} {side} "
            f"{self._percent(one.found)}{'' if i else ' of the members'}"
            for i, one in enumerate(self.attacks)
        ]
        return f"With {', with '.join(said)}." if said else ""

    def attacks_in_words(self) -> tuple[str, ...]:
        """What each of the attacks finds, for the legend of a picture."""
        side = "at least" if self.shown else "at most"
        return tuple(
            f"{decimal(100 * one.false_alarms, 3)} % false alarms: {side} {self._percent(one.found)} found"
            for one in self.attacks
        )

    @property
    def limit(self) -> str:
        """That there is no bound on all attacks, where there is none."""
        if self.most is not None or self.shown:
            return ""
        return "One that accuses hardly anyone may be right every time: no bound holds of it."

    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """False alarms, members found and accusations that are right, in words: a row for each attack."""
        named = [(f"{decimal(100 * one.false_alarms, 3)} % false alarms", one) for one in self.attacks]
        if self.as_many is not None:
            named.append(("as many accused as suspected", self.as_many))
        rows = [(name, self._percent(one.found), self._percent(one.right)) for name, one in named]
        if not self.shown or self.most is not None:
            rows.append(("any attack", "", "no bound" if self.most is None else self._percent(self.most)))
        return tuple(rows)

    def header(self) -> tuple[str, str, str]:
        """Of `rows`."""
        side = "at least" if self.shown else "at most"
        return "attack", f"members found, {side}", f"accusations that are right, {side}"

    def fields(self) -> Mapping[str, object]:
        """The same as JSON values: shares are float64, rounded outward."""
        return {
            "base_rate": {"exact": plain_text(self.base_rate), "decimal": decimal(self.base_rate, 17)},
            "how": self.how,
            "shown": self.shown,
            "provided": self.provided,
            "sentences": list(self.sentences()),
            "attacks": [_attack_fields(one) for one in self.attacks],
            "as_many": None if self.as_many is None else _attack_fields(self.as_many),
            "any_attack": None if self.most is None else _shares_fields(self.most),
        }

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head, *rest = (escape(one) for one in self.sentences())
        said = "".join(f"<div>{one}</div>" for one in rest)
        below = f"<div>Base rate {_in_words(self.base_rate)}; {escape(self.how)}.</div>"
        return framed(f"<strong>{head}</strong>", said, table("", self.header(), self.rows()), below, curves=[])

    def _side_of(self, shares: Shares) -> Fraction:
        return shares[0] if self.shown else shares[1]

    def _is_right(self, share: Fraction) -> str:
        times = self._times(share)
        return f"{'may be' if times == _ALWAYS and not self.shown else 'is'} right {times}"

    def _times(self, share: Fraction) -> str:
        """How often, in words: 1 time in 8, rounded to the side of what is said.

        >>> _words = Risk(base_rate=Fraction(1, 9), attacks=(), as_many=None, most=None, how="")
        >>> _words._times(Fraction(10, 81)), _words._times(Fraction(2, 3)), _words._times(Fraction(1))
        ('at most 1 time in 8', 'at most 67 times in 100', 'every time')
        """
        side = "at least" if self.shown else "at most"
        if share <= 0 or (share == 1 and self.shown):
            return "never" if share <= 0 else _ALWAYS
        if share <= _FEW:
            count = math.ceil(1 / share) if self.shown else math.floor(1 / share)
            return f"{side} 1 time in {count}"
        rounded = self._in_hundred(share)
        return _ALWAYS if rounded == "100" else f"{side} {rounded} times in 100"

    def _percent(self, shares: Shares) -> str:
        return f"{self._in_hundred(self._side_of(shares))} %"

    def _in_hundred(self, share: Fraction) -> str:
        """A share of a hundred to two digits, or to as many as tell it from all: 99.98."""
        if share == 1:
            return "100"
        said = "100"
        for digits in range(_DIGITS, _MOST_DIGITS + 1):
            said = at_least(100 * share, digits) if self.shown else at_most(100 * share, digits)
            if Fraction(said) < 100:
                return said
        return "100"

    def no_more_than(self, other: Risk, how: str) -> Risk:
        """The smaller upper side of each number of two risks at one base rate, both of which hold.

        Args:
            other: with the same shares of false alarms.
            how: by what both are known.
        """
        assert self.as_many is not None  # both bound every attack
        assert other.as_many is not None
        pairs = zip((*self.attacks, self.as_many), (*other.attacks, other.as_many), strict=True)
        *attacks, as_many = (
            replace(one, found=_smaller(one.found, two.found), right=_smaller(one.right, two.right))
            for one, two in pairs
        )
        known = [most for most in (self.most, other.most) if most is not None]
        most = min(known, key=lambda one: one[1], default=None)
        return replace(self, attacks=tuple(attacks), as_many=as_many, most=most, how=how)


def _smaller(one: Shares, other: Shares) -> Shares:
    return min(one[0], other[0]), min(one[1], other[1])


def _attack_fields(one: Attack) -> dict[str, object]:
    alarms = {"exact": plain_text(one.false_alarms), "decimal": decimal(one.false_alarms, 17)}
    return {"false_alarms": alarms, "found": _shares_fields(one.found), "right": _shares_fields(one.right)}


def _shares_fields(shares: Shares) -> dict[str, float]:
    return {"lower": float_below(shares[0]), "upper": float_above(shares[1])}


def _in_words(share: Fraction) -> str:
    """A share as people say it.

    >>> _in_words(Fraction(1, 1000)), _in_words(Fraction(3, 10)), _in_words(Fraction(0.001))
    ('1 in 1000', '3 in 10', '1 in 1000')
    """
    near = share.limit_denominator(10**9)
    for said in (Fraction(1, round(1 / share)), share.limit_denominator(_LARGEST_IN_WORDS)):
        if said and abs(said - near) <= near / 10**9:
            return f"{said.numerator} in {said.denominator}"
    return f"{decimal(100 * share, 5)} %"


def checked_base_rate(base_rate: Exact) -> Fraction:
    """A base rate as an exact number.

    Raises:
        InvalidValue: not a number between 0 and 1.
    """
    share = exactly(base_rate, name="base_rate")
    if not 0 < share < 1:
        remedy = "give the share of the people that is suspected before the release, such as 0.001"
        raise InvalidValue("base_rate", base_rate, "between 0 and 1, both left out", remedy)
    return share


def risk_of(
    base_rate: Exact,
    missed: Callable[[Fraction], Shares],
    largest_ratio: Shares | None,
    *,
    how: str,
    false_alarms: Iterable[Exact] = FALSE_ALARMS,
    provided: str = "",
) -> Risk:
    """The risk that follows from bounds on a trade-off function.

    Args:
        base_rate: the share p that is suspected, between 0 and 1.
        missed: bounds on beta(alpha) from below and from above, at any alpha in (0, 1].
        largest_ratio: bounds on the supremum of (1 - beta(alpha))/alpha; None where it is infinite or not known.
        how: by what they are known.
        false_alarms: the shares at which attacks are stated, in (0, 1].
        provided: see `Risk`.

    Raises:
        InvalidValue: a share out of range.
    """
    rate = checked_base_rate(base_rate)
    levels = [exactly(one, name="false_alarms") for one in false_alarms]
    for level in levels:
        if not 0 < level <= 1:
            remedy = "there is no bound without false alarms; give a share such as 0.01"
            raise InvalidValue("false_alarms", str(level), "above 0, and at most 1", remedy)
    return Risk(
        base_rate=rate,
        attacks=tuple(Attack.of(rate, level, missed(level)) for level in levels),
        as_many=_attack_on_as_many(rate, missed),
        most=None
        if largest_ratio is None
        else (right_by_ratio(rate, largest_ratio[0]), right_by_ratio(rate, largest_ratio[1])),
        how=how,
        provided=provided,
    )


def right_by_ratio(base_rate: Fraction, ratio: Fraction) -> Fraction:
    """The share of true accusations where members are accused ``ratio`` times as often as others."""
    return _right(base_rate, Fraction(1), ratio)


def shown_by_ratio(base_rate: Exact, epsilon: float, *, how: str) -> Risk:
    """The risk that is known from one event, more than exp(epsilon) times as likely for members: from below."""
    rate = checked_base_rate(base_rate)
    least = right_by_ratio(rate, ratio_of(Fraction(min(epsilon, LARGEST_LOSS)))[0])
    return Risk(base_rate=rate, attacks=(), as_many=None, most=(least, Fraction(1)), how=how, shown=True)


def shown_by_event(base_rate: Exact, found: Fraction, false_alarms: Fraction, *, how: str) -> Risk:
    """The risk of accusing on one event, from below.

    Args:
        base_rate: the share p that is suspected.
        found: a lower bound on its probability for members.
        false_alarms: an upper bound on that for others.
        how: by what they are known.
    """
    rate = checked_base_rate(base_rate)
    attack = Attack.of(rate, false_alarms, (Fraction(0), 1 - found))
    most = attack.right[0], Fraction(1)
    return Risk(base_rate=rate, attacks=(attack,), as_many=None, most=most, how=how, shown=True)


def ratio_of(epsilon: Fraction) -> Shares:
    """Bounds on exp(epsilon)."""
    with precision(_BITS):
        power = ball(epsilon).exp()
        return as_fraction(power.lower()), as_fraction(power.upper())


def _attack_on_as_many(rate: Fraction, missed: Callable[[Fraction], Shares]) -> Attack:
    """The best attack of those that accuse the share ``rate`` of all people: p (1 - beta) + (1 - p) alpha = p.

    As many members are then missed as others are accused: (1 - p) alpha = p beta(alpha), of which the left side grows
    and the right side falls. An alpha that is certainly too small bounds the attack from above, one that is certainly
    large enough is that of an attack that accuses at least as many.
    """
    most = min(Fraction(1), rate / (1 - rate))
    known: dict[Fraction, Shares] = {}

    def excess(alpha: Fraction) -> Fraction:
        known[alpha] = missed(alpha)
        return rate * known[alpha][0] - (1 - rate) * alpha

    with precision(_BITS):
        bracket = Bracket(low=Fraction(0), high=most, at_low=ball(rate), at_high=ball(min(excess(most), Fraction(0))))
    for alpha in itertools.islice(bracket.trials(_BITS), _MOST_TRIALS):
        value = excess(alpha)
        bracket.narrow(alpha, ball(value), 1 if value > 0 else -1)
        if bracket.width <= _CLOSE * rate * rate:
            break
    excess(min(most, bracket.high + rate * max(_CLOSE * rate, _FAR)))  # where it is certain that enough are accused
    below = Attack.of(rate, bracket.low, known.get(bracket.low, (Fraction(0), Fraction(1))))
    enough = [
        Attack.of(rate, alpha, bounds) for alpha, bounds in known.items() if rate * bounds[1] <= (1 - rate) * alpha
    ]
    best = max(enough, key=lambda one: one.right[0], default=None)
    least = Fraction(0) if best is None else best.right[0]
    # of an attack that accuses exactly as many, the two shares are one: both count the members among the accused
    return Attack(false_alarms=bracket.low, found=(least, below.right[1]), right=(least, below.right[1]))
