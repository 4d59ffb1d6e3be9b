"""Counters of streams, and training: the worst pair of each mechanism, from its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from dpverdict.proofs.checks.evidence import number
from dpverdict.proofs.verdicts.given import ADD_REMOVE, REPLACE, Parameters
from dpverdict.proofs.verdicts.laws import (
    NORMAL,
    REAL,
    Gaussian,
    Laplace,
    NotDerived,
    Response,
    WorstPair,
    cases,
    condition,
    identity,
    not_derived,
    sampled_above,
    sum_of_shifts,
)

MOST_STEPS: Final = 128
"""Of a stream or a run whose sum of squares is derived: a checker reads no longer text than so many fractions."""


def tree_height(arity: int, subtracted: int, horizon: int) -> int:
    """The least h such that h digits from -a to k - 1 - a reach the horizon."""
    height, reached = 0, 0
    while reached < horizon:
        reached += (arity - 1 - subtracted) * arity**height
        height += 1
    return height


def _subtracted(given: Parameters, arity: int, digits: str) -> int:
    if digits == "symmetric" and arity % 2 == 0:
        given.refuse("arity", "symmetric digits need an odd one")
    return 0 if digits == "ordinary" else (arity - 1) // 2


def tree_counter(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    horizon, arity = given.whole("horizon"), given.whole("arity", 2)
    digits = given.word("digits", "offset", "symmetric", "ordinary")
    law, rate = given.word("noise", "discrete", "continuous"), given.fraction("rate")
    subtracted = _subtracted(given, arity, digits)
    height = tree_height(arity, subtracted, horizon)
    full = sum((arity - 1 - subtracted) * arity**level for level in range(height))
    attained = subtracted == 0 or full == horizon or arity ** (height - 1) <= horizon
    reached = f"{arity - 1 - subtracted}*({' + '.join(f'{arity}**{level}' for level in range(height))})"
    before = full - (arity - 1 - subtracted) * arity ** (height - 1)
    discrete = law == "discrete"
    return WorstPair(
        noise={"law": "two-sided geometric" if discrete else "laplace", "rate": str(rate)},
        differences={
            "set": "the sums of a tree with one item",
            "horizon": str(horizon),
            "arity": str(arity),
            "subtracted on a level": str(subtracted),
            "sums with the first item": str(height),
        },
        pair="the first item of the stream changed from 0 to 1",
        why="the first item is in a sum of every level, and the loss of log-concave noise grows with every shift",
        law=Response(rate, height) if discrete else Laplace(((rate, height),)),
        attained=attained,
        conditions=(
            condition("times that the digits reach", identity((reached, str(full)))),
            condition(
                "the number of levels",
                cases(
                    ("enough", [[str(horizon), "<=", str(full), True]]),
                    ("needed", [[str(before), "<", str(horizon), True]]),
                ),
            ),
            sum_of_shifts(((rate, height),)),
        ),
        assumptions=(
            ("every item is 0 or 1", "the 32-byte key of the noise is uniformly random and secret")
            if discrete
            else ("every item lies in [0, 1]", REAL)
        ),
    )


def _first_column(given: Parameters, kind: str, horizon: int) -> tuple[list[tuple[Fraction, int]], bool] | None:
    """The entries of the first column of R with how often they occur, and whether L is a square matrix."""
    if kind in ("binary", "honaker"):
        levels = horizon.bit_length()
        return [(Fraction(1), levels)], kind == "binary" or horizon == 1
    if kind == "sqrt-toeplitz" and horizon <= MOST_STEPS:
        return [(entry, 1) for entry in toeplitz(horizon)], True
    return None


def toeplitz(steps: int) -> list[Fraction]:
    """The coefficients binom(2 j, j)/4^j of (1 - x)^(-1/2)."""
    entries = [Fraction(1)]
    for j in range(1, steps):
        entries.append(entries[-1] * Fraction(2 * j - 1, 2 * j))
    return entries


_KINDS: Final = ("binary", "honaker", "smooth-binary", "sqrt-toeplitz")


def factorization_counter(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    horizon, kind = given.whole("horizon"), given.word("kind", *_KINDS)
    law, scale = given.word("noise", "laplace", "gaussian"), given.fraction("scale")
    found = _first_column(given, kind, horizon)
    noise = {"law": law, "scale": str(scale)}
    differences = {"set": "the first column of R", "horizon": str(horizon), "factorisation": kind}
    assumptions = ("every item lies in [0, 1]", REAL, *((NORMAL,) if law == "gaussian" else ()))
    if found is None:
        return not_derived(noise, differences, assumptions)
    column, square_factors = found
    pair, why = "the first item of the stream changed from 0 to 1", "the first item is in the most sums"
    if law == "laplace":
        groups = tuple((entry / scale, count) for entry, count in column)
        return WorstPair(
            noise=noise,
            differences=differences,
            pair=pair,
            why=f"{why}, and the loss grows with every shift",
            law=Laplace(groups),
            attained=square_factors,
            conditions=(sum_of_shifts(groups),),
            assumptions=assumptions,
        )
    square = sum((count * entry**2 for entry, count in column), Fraction(0)) / scale**2
    terms = _sum_of([f"{count}*({number(entry)})**2" for entry, count in column])
    return WorstPair(
        noise=noise,
        differences=differences,
        pair=pair,
        why=why,
        law=Gaussian(square),
        attained=square_factors,
        conditions=(
            condition("mu^2 of the first item", identity((f"({terms})/({number(scale**2)})", number(square)))),
        ),
        assumptions=assumptions,
    )


def dp_ftrl(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    multiplier, norm, dim = given.fraction("noise_multiplier"), given.fraction("clipping_norm"), given.whole("dim")
    steps, epochs, kind = given.whole("steps"), given.whole("epochs"), given.word("kind", *_KINDS)
    participation = given.word("participation", "fixed", "fresh")
    if steps % epochs:
        given.refuse("epochs", f"they do not divide steps={steps}")
    noise = {"law": "gaussian", "standard deviation": str(multiplier * norm), "coordinates": str(dim)}
    differences = {
        "set": "columns of R of one record",
        "steps": str(steps),
        "epochs": str(epochs),
        "factorisation": kind,
        "participation": participation,
        "norm": str(norm * (2 if relation == REPLACE else 1)),
    }
    assumptions = (
        "each record takes part in one step of every epoch, chosen independently of its values",
        "every gradient is clipped, and the noise is added before anything else sees the sums",
        *sampled_above(multiplier * norm),
        REAL,
        NORMAL,
    )
    if kind != "sqrt-toeplitz" or steps > MOST_STEPS or (participation == "fresh" and epochs > 1):
        return not_derived(noise, differences, assumptions)
    entries, each = toeplitz(steps), steps // epochs
    sums = [sum((entries[t - first] for first in range(0, t + 1, each)), Fraction(0)) for t in range(steps)]
    times = 4 if relation == REPLACE else 1
    square = times * sum((one**2 for one in sums), Fraction(0)) / multiplier**2
    terms = _sum_of([f"({number(one)})**2" for one in sums])
    return WorstPair(
        noise=noise,
        differences=differences,
        pair="a gradient of the clipping norm in the first step of every epoch",
        why="the coefficients are positive and fall, so that the earliest equal gradients add up the most",
        law=Gaussian(square),
        conditions=(
            condition(
                "mu^2 of the first steps", identity((f"{times}*({terms})/({number(multiplier**2)})", number(square)))
            ),
        ),
        assumptions=assumptions,
    )


def sampled_matrix(given: Parameters) -> WorstPair:
    """Sampled steps of a matrix mechanism, of which only the numbers are compared."""
    given.under(ADD_REMOVE)
    multiplier, norm, dim = given.fraction("noise_multiplier"), given.fraction("clipping_norm"), given.whole("dim")
    steps, entries = given.whole("steps"), [entry for (entry,) in given.table("coefficients", 1)]
    sampling = given.word("sampling", "balls-in-bins", "cyclic-poisson", "min-separation")
    apart, rate = given.whole("separation", 2), given.fraction("rate")
    if steps > MOST_STEPS or len(entries) > steps:
        given.refuse("steps", f"more than {MOST_STEPS}, or fewer than there are coefficients")
    if apart > steps:
        given.refuse("separation", f"more than steps={steps}")
    if rate > 1 or (sampling == "balls-in-bins" and rate != 1):
        given.refuse("rate", "no probability of a step")
    return not_derived(
        {"law": "gaussian", "standard deviation": str(multiplier * norm), "coordinates": str(dim)},
        {
            "set": "columns of C of one record, drawn",
            "steps": str(steps),
            "coefficients": [str(entry) for entry in entries],
            "sampling": sampling,
            "separation": str(apart),
            "rate": str(rate),
            "norm": str(norm),
        },
        (GRADIENTS_OF_STEPS, REAL, NORMAL),
    )


GRADIENTS_OF_STEPS: Final = "every gradient is clipped, and in which steps it is taken is drawn apart from all values"


def matrix_mechanism(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    multiplier, norm, dim = given.fraction("noise_multiplier"), given.fraction("clipping_norm"), given.whole("dim")
    steps, entries = given.whole("steps"), [entry for (entry,) in given.table("coefficients", 1)]
    participation = given.word("participation", "single", "fixed-epochs", "cyclic", "min-separation")
    apart, most = given.whole("separation"), given.whole("participations")
    if steps > MOST_STEPS or len(entries) > steps:
        given.refuse("steps", f"more than {MOST_STEPS}, or fewer than there are coefficients")
    if entries[0] == 0 or any(later > former for former, later in pairwise(entries)):
        given.refuse("coefficients", "they do not fall from a positive one")
    possible = -(-steps // apart)
    if most > possible or (participation != "min-separation" and most != possible):
        given.refuse("participations", f"they are not as many as {steps} steps hold")
    if (participation == "single" and apart != steps) or (participation == "fixed-epochs" and steps % apart):
        given.refuse("separation", f"it is none of {participation} in {steps} steps")
    row = [*entries, *[Fraction(0)] * (steps - len(entries))]
    sums = [sum((row[t - i * apart] for i in range(most) if t >= i * apart), Fraction(0)) for t in range(steps)]
    times = 4 if relation == REPLACE else 1
    square = times * sum((one**2 for one in sums), Fraction(0)) / multiplier**2
    terms = _sum_of([f"({number(one)})**2" for one in sums])
    return WorstPair(
        noise={"law": "gaussian", "standard deviation": str(multiplier * norm), "coordinates": str(dim)},
        differences={
            "set": "columns of C of one record",
            "steps": str(steps),
            "participation": participation,
            "separation": str(apart),
            "participations": str(most),
            "norm": str(norm * (2 if relation == REPLACE else 1)),
        },
        pair="a gradient of the clipping norm at the earliest steps of a record",
        why="the coefficients are not negative and fall, so that the earliest and nearest equal gradients add up the "
        "most",
        law=Gaussian(square),
        conditions=(
            condition(
                "mu^2 of the first steps", identity((f"{times}*({terms})/({number(multiplier**2)})", number(square)))
            ),
        ),
        assumptions=(
            f"each record takes part {_taking_part(participation, apart, most)}, chosen independently of its values",
            "every gradient is clipped, and the noise is added before anything else sees the sums",
            *sampled_above(multiplier * norm),
            REAL,
            NORMAL,
        ),
    )


def _taking_part(participation: str, apart: int, most: int) -> str:
    if participation == "single":
        return "in one step"
    if participation == "min-separation":
        return f"in at most {most} steps, no two nearer than {apart}"
    which = "every" if participation == "fixed-epochs" else "some of every"
    return f"in {which} {apart}-th step, {most} in all at most"


def _sum_of(terms: Sequence[str]) -> str:
    """Their sum, in groups of 16: a checker reads at most `DEEPEST` operations within each other."""
    groups = [" + ".join(terms[first : first + 16]) for first in range(0, len(terms), 16)]
    return " + ".join(f"({group})" for group in groups)


_PAIRED: Final = (
    "a batch with the gradient is paired with one without its replacement, and one without the gradient with one with "
    "its replacement or without: no two are further apart than the clipping norm, and known ones tell no less"
)
"""Of Poisson batches with a rate of at most one half, in which the gradient is replaced."""


def dp_sgd(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    multiplier, norm, dim = given.fraction("noise_multiplier"), given.fraction("clipping_norm"), given.whole("dim")
    rate, steps = given.fraction("rate"), given.whole("steps")
    sampling = given.word("sampling", "poisson", "balls-in-bins", "shuffle", "shuffle-once")
    if relation == REPLACE and sampling == "balls-in-bins":
        raise NotDerived(f"relation: {relation!r} is not proved for sampling {sampling}")
    if rate > 1 or (sampling != "poisson" and (rate.numerator != 1 or steps % rate.denominator)):
        given.refuse("rate", f"{rate} is no rate of whole batches in {steps} steps")
    takes = steps if sampling == "poisson" else steps // rate.denominator
    paired = relation == REPLACE and sampling == "poisson" and rate <= Fraction(1, 2)
    times = 4 if relation == REPLACE and not paired else 1
    square = times * takes / multiplier**2
    parts = identity((f"{number(rate)} + {number(rate)} + {number(1 - 2 * rate)}", "1"))
    return WorstPair(
        noise={"law": "gaussian", "standard deviation": str(multiplier * norm), "coordinates": str(dim)},
        differences={
            "set": "one gradient in sampled batches",
            "norm": str(norm * (2 if relation == REPLACE else 1)),
            "steps": str(steps),
            "sampling": sampling,
            "rate": str(rate),
        },
        pair="a gradient of the clipping norm in batches that are known",
        why=_PAIRED if paired else "known batches tell no less than sampled ones",
        law=Gaussian(square),
        attained=False,
        conditions=(
            *((condition("weights of the batches that are paired, none below 0", parts),) if paired else ()),
            condition(
                "mu^2 of known batches", identity((f"{times}*{takes}/({number(multiplier**2)})", number(square)))
            ),
        ),
        cited="joint convexity of divergences (Zhu, Dong and Wang 2022)",
        assumptions=(
            "batches are made as stated, independently of the records",
            "every gradient is clipped, and the noise is added to the sum before anything else sees it",
            *sampled_above(multiplier * norm),
            REAL,
            NORMAL,
        ),
    )
