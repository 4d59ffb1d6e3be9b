"""Other noise on queries, responses and selections: the worst pair of each mechanism, from its parameters."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpverdict.proofs.checks.evidence import number
from dpverdict.proofs.verdicts.given import ADD_REMOVE, REPLACE, Parameters
from dpverdict.proofs.verdicts.laws import (
    BITS,
    NORMAL,
    REAL,
    UNIT_CUBE,
    BoundedRange,
    DiscreteGaussian,
    Gaussian,
    Json,
    Laplace,
    Law,
    Response,
    Unknown,
    Values,
    WorstPair,
    condition,
    identity,
    not_derived,
    sampled_above,
    sum_of_shifts,
)


def laplace(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    dim, norm = given.whole("dim"), given.word("norm", "linf", "l1", "l2")
    radius, scale = given.fraction("radius"), given.fraction("scale")
    reach = radius * (2 if relation == REPLACE and norm != "linf" else 1)
    noise = {"law": "laplace", "coordinates": str(dim), "scale": str(scale)}
    differences = {"set": f"{norm} ball", "coordinates": str(dim), "radius": str(reach)}
    held = UNIT_CUBE if norm == "linf" and radius == 1 else "every record has the bounded norm at most the radius"
    assumptions = (held, *sampled_above(scale), REAL)
    if norm == "l2" and dim > 1:
        return not_derived(noise, differences, assumptions)
    groups = ((reach / scale, dim if norm == "linf" else 1),)
    return WorstPair(
        noise=noise,
        differences=differences,
        pair="every coordinate moved by the radius" if norm == "linf" else "one coordinate moved by the radius",
        why="every shift is the largest at once" if norm == "linf" else "of one l1 norm, one coordinate tells most",
        law=Laplace(groups),
        conditions=(sum_of_shifts(groups),),
        assumptions=assumptions,
    )


def bounded_contributions(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    dim, keys, per_key = given.whole("dim"), given.whole("keys"), given.whole("per_key")
    values, high = given.word("values", "from 0", "symmetric"), given.fraction("high")
    most = per_key * high
    l1, l2 = (given.fraction(name, positive=False) for name in ("l1", "l2"))
    noise = given.word("noise", "laplace", "gaussian", "discrete-gaussian")
    scale = given.fraction("variance" if noise == "discrete-gaussian" else "scale")
    if keys > dim:
        given.refuse("keys", f"{keys} of {dim}")
    if l2 and noise == "laplace":
        given.refuse("l2", "no worst user is known")
    whole = min(keys, int(l1 // most)) if l1 else keys
    rest = l1 - whole * most if whole < keys else Fraction(0)
    opposite = relation == REPLACE and values == "symmetric"
    moves = [((2 if opposite else 1) * most, whole), ((2 if opposite else 1) * rest, 1)]
    if relation == REPLACE and not opposite:
        moves = [(most, min(dim, 2 * whole)), (rest, max(0, min(dim - 2 * whole, 2)))]
    moves = [(size, number_of) for size, number_of in moves if size * number_of]
    if noise == "discrete-gaussian" and (l1 or l2 or opposite or high.denominator > 1):
        given.refuse("noise", "no worst user is known")
    groups = tuple((size / scale, number_of) for size, number_of in moves)
    law: Law = Laplace(groups)
    conditions: tuple[Json, ...] = (sum_of_shifts(groups),)
    if noise == "gaussian":
        terms, square = _largest_square(moves, l2, relation == REPLACE, opposite)
        law, variance = Gaussian(square / scale**2), number(scale**2)
        written = identity((f"({terms})/({variance})", number(square / scale**2)))
        conditions = (condition("mu^2 of the largest moves", written),)
    elif noise == "discrete-gaussian":
        law = DiscreteGaussian(tuple((scale, int(size), number_of) for size, number_of in moves))
        terms = " + ".join(f"{number_of}*({number(size)})**2/(2*({number(scale)}))" for size, number_of in moves)
        rho = sum((size**2 * number_of / (2 * scale) for size, number_of in moves), Fraction(0))
        conditions = (condition("rho of the largest moves", identity((terms, number(rho)))),)
    return WorstPair(
        noise={
            "law": noise,
            "coordinates": str(dim),
            "variance" if noise == "discrete-gaussian" else "scale": str(scale),
        },
        differences={
            "set": f"sums of one user, {values}",
            "not 0, at most": str(keys),
            "each at most": str(most),
            "l1 norm at most": str(l1) if l1 else "any",
            "l2 norm at most": str(l2) if l2 else "any",
        },
        pair="as many of the largest sums as there can be, and one of the rest",
        why="the loss of equal log-concave noise grows under weak majorisation of the moves, and these majorise all",
        law=law,
        conditions=conditions,
        assumptions=(
            "a record is all that one user has, and what is kept of a user depends on that user alone",
            BITS if noise == "discrete-gaussian" else REAL,
            *((NORMAL,) if noise == "gaussian" else ()),
        ),
    )


def _largest_square(
    moves: list[tuple[Fraction, int]], l2: Fraction, replaced: bool, opposite: bool
) -> tuple[str, Fraction]:
    """The largest squared l2 norm of a difference of two users, or of one, as it is written and as a number."""
    users = [moves]
    if replaced and not opposite:
        users = [[(size, n - n // 2) for size, n in moves], [(size, n // 2) for size, n in moves]]
    bound = (4 if opposite else 1) * l2**2
    terms, total = [], Fraction(0)
    for user in users:
        square = sum((size**2 * n for size, n in user), Fraction(0))
        if l2 and square > bound:
            terms.append(number(bound))
            total += bound
        else:
            terms += [f"{n}*({number(size)})**2" for size, n in user if n]
            total += square
    return " + ".join(terms), total


def discrete_correlated(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE)
    dim, query, count = given.whole("dim"), given.fraction("query_variance"), given.fraction("count_variance")
    groups = ((query, 1, dim), (count, 1, 1))
    rho = dim / (2 * query) + 1 / (2 * count)
    terms = f"{dim}/(2*({number(query)})) + 1/(2*({number(count)}))"
    return WorstPair(
        noise={"law": "discrete gaussian", "variance parameters": [[str(query), str(dim)], [str(count), "1"]]},
        differences={"set": "vectors of 1 and -1", "coordinates": str(dim + 1)},
        pair="any record, against none",
        why="every record moves every coordinate by 1 or -1, and the noise is symmetric and independent",
        law=DiscreteGaussian(groups),
        conditions=(condition("rho, the mean of the loss", identity((terms, number(rho)))),),
        assumptions=("every record lies in {0, 1}^d", BITS),
    )


def randomized_response(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    options, rate = given.whole("options", 2), given.fraction("log_odds")
    return WorstPair(
        noise={"law": "response", "values": str(options), "logarithm of the odds": str(rate)},
        differences={"set": "one value replaced by another", "values": str(options)},
        pair="the value 0 replaced by the value 1",
        why="the law is the same for every two values, but for their names",
        law=Values(options, rate),
        assumptions=("the record is one of the values", BITS),
    )


def geometric(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    reach, rate = given.whole("sensitivity"), given.fraction("rate")
    outputs = given.word("outputs", "unbounded", "truncated", "bounded")
    low, high = given.signed("low"), given.signed("high")
    if outputs == "unbounded" and (low or high):
        given.refuse("low", "it and high are 0 where the outputs are unbounded")
    bounded = outputs == "bounded"
    law: Law = Response(rate, 1) if reach == 1 else Unknown(reach * rate)
    if bounded:
        law = BoundedRange(2 * rate * reach)
    return WorstPair(
        noise={"law": "two-sided geometric", "rate": str(rate), "outputs": outputs, "from": str(low), "to": str(high)},
        differences={"set": "whole numbers", "at most": str(reach), "relation": relation},
        pair=f"a count moved by {reach}",
        why="the noise is renormalised on a range: the losses of a pair lie in an interval"
        if bounded
        else "the noise is log-concave, so that the loss grows with the move",
        law=law,
        attained=outputs == "unbounded",
        cited="Dong, Durfee and Rogers 2020, Lemma 3.2" if bounded else "",
        assumptions=("every record is a whole number from 0 to the sensitivity", BITS),
    )


def selection(given: Parameters, law: str) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    options, reach, rate = given.whole("options"), given.fraction("sensitivity"), given.fraction("rate")
    move = reach * (2 if relation == REPLACE else 1)
    loss = move * rate
    gumbel = law == "gumbel"
    return WorstPair(
        noise={"law": law, "options": str(options), "rate": str(rate)},
        differences={"set": "scores that move relative to each other", "by at most": str(move)},
        pair="scores moved by the most, relative to each other",
        why="the losses of any pair lie in an interval of this length"
        if gumbel
        else "each step of a move of the scores is private in proportion",
        law=BoundedRange(loss) if gumbel else Laplace(((loss, 1),)),
        attained=False,
        conditions=(
            condition("the move times the rate", identity((f"({number(move)})*({number(rate)})", number(loss)))),
        ),
        cited=_CITED[law],
        assumptions=("every score of a record lies in [0, sensitivity]", REAL),
    )


def quantile(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    share, rate = given.fraction("quantile"), given.fraction("rate")
    if share >= 1:
        given.refuse("quantile", f"{share} is not below 1")
    move = Fraction(2) if relation == REPLACE else 2 * max(share, 1 - share)
    return WorstPair(
        noise={"law": "exponential in the rank", "quantile": str(share), "rate": str(rate)},
        differences={"set": "ranks that move relative to each other", "by at most": str(move)},
        pair="a value that moves past all others",
        why="the losses of any pair lie in an interval of this length",
        law=BoundedRange(move * rate),
        attained=False,
        conditions=(
            condition("the move times the rate", identity((f"({number(move)})*({number(rate)})", number(move * rate)))),
        ),
        cited=_CITED["gumbel"],
        assumptions=("the interval does not depend on the data", REAL),
    )


_CITED: Final = {
    "gumbel": "Dong, Durfee and Rogers 2020, Lemma 3.2",
    "exponential": "McKenna and Sheldon 2020, Theorem 1",
    "laplace": "Dwork and Roth 2014, Claim 3.9",
}


def noisy_max(given: Parameters) -> WorstPair:
    law = given.word("noise", "laplace", "exponential", "gumbel")
    return selection(given, law)


def above_threshold(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    queries, positives = given.whole("queries"), given.whole("positives")
    threshold, reach = given.signed("threshold"), given.fraction("sensitivity")
    first, own = given.fraction("threshold_scale"), given.fraction("query_scale", positive=False)
    noise = {"law": "laplace", "queries": str(queries), "scale": str(own), "scale of the threshold": str(first)}
    times = 2 if relation == REPLACE else 1
    differences = {
        "set": "queries moved against a threshold",
        "by at most": str(times * reach),
        "threshold": str(threshold),
        "answers above": str(positives),
    }
    assumptions = ("every record moves a query by a number in [0, sensitivity]", REAL)
    if positives > queries:
        given.refuse("positives", f"more than queries={queries}")
    if own == 0:
        return not_derived(noise, differences, assumptions)
    loss = reach / first + positives * times * reach / own
    terms = f"({number(reach)})/({number(first)}) + {positives}*{times}*({number(reach)})/({number(own)})"
    return WorstPair(
        noise=noise,
        differences=differences,
        pair="queries and threshold moved against each other",
        why="every part of the move costs in proportion",
        law=Laplace(((loss, 1),)),
        attained=False,
        conditions=(condition("D/b1 + c m/b2", identity((terms, number(loss)))),),
        cited="Lyu, Su and Li 2017, Theorem 2",
        assumptions=assumptions,
    )


def rank1(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE)
    dim, radius, scale = given.whole("dim", 3), given.fraction("radius"), given.fraction("scale")
    return WorstPair(
        noise={"law": "gaussian radius in a random direction", "coordinates": str(dim), "scale": str(scale)},
        differences={"set": "l2 ball", "coordinates": str(dim), "radius": str(radius)},
        pair="a record of the largest norm, against none",
        why="the noise is spherical, and its density falls with the radius",
        law=Unknown(),
        assumptions=("every record has l2-norm at most the radius", REAL, NORMAL),
    )


def thresholded_counts(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    dim, keys, each = given.whole("dim"), given.whole("keys"), given.whole("per_key")
    law = given.word("noise", "laplace", "gaussian", "geometric")
    scale, least = given.fraction("scale"), given.fraction("threshold")
    if dim < keys * (2 if relation == REPLACE else 1):
        given.refuse("dim", "fewer than the keys of the users that differ")
    drawn = {"laplace": (REAL,), "gaussian": (REAL, NORMAL), "geometric": (BITS,)}[law]
    return not_derived(
        {"law": law, "keys": str(dim), "scale": str(scale), "counts released from": str(least)},
        {"set": "keys of a user", "at most": str(keys), "records with one key": str(each), "relation": relation},
        (f"a user has at most {keys} keys, with at most {each} records each", "a record is one user", *drawn),
    )


def partition_selection(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE)
    dim, keys = given.whole("dim"), given.whole("keys")
    epsilon, delta = given.fraction("key_epsilon"), given.fraction("key_delta")
    if dim < keys:
        given.refuse("dim", f"fewer than keys={keys}")
    return not_derived(
        {"law": "optimal selection", "keys": str(dim), "epsilon of a key": str(epsilon), "delta of a key": str(delta)},
        {"set": "keys of a user", "at most": str(keys)},
        (f"a user has at most {keys} keys", "a record is one user", REAL),
    )


_ONE_VALUE: Final = "the record is one of the values"
_TWO_VALUES: Final = {"set": "one value replaced by another"}


def local(given: Parameters, size: str = "") -> WorstPair:
    """A report of one value, of which only the numbers are compared."""
    given.under(REPLACE)
    report = {
        "law": "local report",
        "values": str(given.whole("options", 2)),
        "epsilon": str(given.fraction("epsilon")),
    }
    if size:
        report[size] = str(given.whole(size))
    return not_derived(report, _TWO_VALUES, (_ONE_VALUE, REAL))


def unary_encoding(given: Parameters) -> WorstPair:
    bits = given.word("bits", "symmetric", "optimised")
    found = local(given)
    return not_derived({**found.noise, "bits": bits}, _TWO_VALUES, (_ONE_VALUE, REAL))


def number_report(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    pieces, epsilon = given.word("pieces", "duchi", "piecewise", "hybrid"), given.fraction("epsilon")
    report = {"law": pieces, "epsilon": str(epsilon)}
    return not_derived(report, {"set": "one number replaced by another"}, ("the record is a number in [-1, 1]", REAL))


def rappor(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    report = {"law": "rappor", "values": str(given.whole("options", 2))}
    report |= {name: str(given.fraction(name, positive=False)) for name in ("flip", "report_zero", "report_one")}
    report |= {"hashes": str(given.whole("hashes")), "reports": str(given.whole("reports", 0))}
    return not_derived(report, _TWO_VALUES, (_ONE_VALUE, "a value has bits that no other value has", REAL))


def secure_sum(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    parties, lost = given.whole("parties"), given.whole("dropouts", 0)
    law = given.word("noise", "skellam", "binomial", "discrete-gaussian", "geometric")
    share, reach, modulus = given.fraction("share"), given.whole("sensitivity"), given.whole("modulus", 0)
    if lost >= parties:
        given.refuse("dropouts", f"nobody of parties={parties} is left")
    if 0 < modulus <= reach:
        given.refuse("modulus", f"not above sensitivity={reach}")
    return not_derived(
        {"law": law, "parties": str(parties), "left out": str(lost), "share": str(share), "modulo": str(modulus)},
        {"set": "one whole number replaced", "at most": str(reach)},
        (
            f"each of {parties} parties has a whole number in [0, {reach}]",
            f"at most {lost} shares are left out or known",
            "each party that is counted adds an independent share of the law that is stated",
        ),
    )


def shuffled_reports(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    names = ("randomized-response", "symmetric-unary-encoding", "optimised-unary-encoding")
    report = {
        "law": "shuffled reports",
        "people": str(given.whole("people", 2)),
        "randomizer": given.word("randomizer", *names, "local-hashing", "subset-selection", "hadamard-response"),
        "values": str(given.whole("options", 2)),
        "epsilon": str(given.fraction("local_epsilon")),
    }
    order = "the order of the reports is uniform, and nothing else tells whose a report is"
    return not_derived(report, _TWO_VALUES, (_ONE_VALUE, order, REAL))
