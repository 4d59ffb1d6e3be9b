"""What mechanisms outside training tell, derived a second time: by enumeration, convolution and closed forms in mpmath.

No code is shared with the mechanisms. Each function gives delta(epsilon) of the worst pair of neighbours. Laws with few
outcomes are written out; noise on whole numbers is convolved; Laplace noise on several sums has a closed form by which
of the losses lie at an end of their range. Every number has fifty digits.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf

mp.dps = 50
Number = Any
Law = list[Number]
FAR = 40
"""After half as many standard deviations, or twice as many units of decay, noise on whole numbers is left out."""


def real(value: Fraction | int | str | float) -> Number:
    exact = Fraction(value)
    return mpf(exact.numerator) / exact.denominator


def stick(p: Iterable[Number], q: Iterable[Number], epsilon: Fraction) -> Number:
    """sum (p - e^epsilon q)_+"""
    grown = mp.exp(real(epsilon))
    return mp.fsum(max(a - grown * b, mpf(0)) for a, b in zip(p, q, strict=True))


def both_ways(p: Sequence[Number], q: Sequence[Number], epsilon: Fraction) -> Number:
    return max(stick(p, q, epsilon), stick(q, p, epsilon))


def grouped(pairs: Iterable[tuple[Number, Number]]) -> list[tuple[Number, Number]]:
    """Outcomes of one likelihood ratio together, as far as forty digits tell."""
    found: dict[str, list[Number]] = {}
    for p, q in pairs:
        if p or q:
            held = found.setdefault(mp.nstr(p / q, 40) if q else "only P", [mpf(0), mpf(0)])
            held[0] += p
            held[1] += q
    return [(p, q) for p, q in found.values()]


def product(parts: Sequence[list[tuple[Number, Number]]]) -> list[tuple[Number, Number]]:
    """Independent outcomes together."""
    found = [(mpf(1), mpf(1))]
    for part in parts:
        found = grouped((p * a, q * b) for (p, q), (a, b) in itertools.product(found, part))
    return found


def profile(pairs: list[tuple[Number, Number]], epsilon: Fraction) -> Number:
    return both_ways([p for p, _ in pairs], [q for _, q in pairs], epsilon)


# reports of one person ------------------------------------------------------------------------------------------------


def unary(options: int, own: Number, other: Number, epsilon: Fraction) -> Number:
    """All lists of bits, of the two values 0 and 1; further bits than eight have one law and are left out."""
    chances = [[own if i == v else other for i in range(min(options, 8))] for v in (0, 1)]
    rows = list(itertools.product((0, 1), repeat=min(options, 8)))
    laws = [[mp.fprod(c if b else 1 - c for b, c in zip(row, law, strict=True)) for row in rows] for law in chances]
    return both_ways(laws[0], laws[1], epsilon)


def kept_bits(flip: Fraction, zero: Fraction, one: Fraction, hashes: int, reports: int, epsilon: Fraction) -> Number:
    """RAPPOR: every list of reports of every bit of either value."""

    def bit(kept: Fraction) -> list[Fraction]:
        if not reports:
            return [1 - kept, kept]
        by_ones: Counter[int] = Counter()
        for row in itertools.product((0, 1), repeat=reports):
            by_ones[sum(row)] += 1
        return [
            number
            * (
                kept * one**ones * (1 - one) ** (reports - ones)
                + (1 - kept) * zero**ones * (1 - zero) ** (reports - ones)
            )
            for ones, number in sorted(by_ones.items())
        ]

    has, lacks = ([real(share) for share in bit(kept)] for kept in (1 - flip / 2, flip / 2))
    pair = list(zip(has, lacks, strict=True))
    return profile(product([pair] * hashes + [[(q, p) for p, q in pair]] * hashes), epsilon)


def hashed(hashes: int, local: Fraction, epsilon: Fraction) -> Number:
    """All values of the hash at the two values, and all responses."""
    grown = mp.exp(real(local))
    kinds: Counter[tuple[bool, bool]] = Counter()
    for a, b, response in itertools.product(range(hashes), repeat=3):
        kinds[response == a, response == b] += 1
    whole = hashes**2 * (grown + hashes - 1)
    law = [(n * (grown if a else 1) / whole, n * (grown if b else 1) / whole) for (a, b), n in kinds.items()]
    return profile(law, epsilon)


def sketch(width: int, local: Fraction, epsilon: Fraction) -> Number:
    """All values of the hash at the two values, and all lists of bits."""
    kept = mp.exp(real(local) / 2) / (1 + mp.exp(real(local) / 2))
    kinds: Counter[tuple[int, int]] = Counter()
    for a, b in itertools.product(range(width), repeat=2):
        for bits in itertools.product((0, 1), repeat=width):
            flips = [sum(bit != (at == own) for at, bit in enumerate(bits)) for own in (a, b)]
            kinds[flips[0], flips[1]] += 1
    chance = [kept ** (width - flips) * (1 - kept) ** flips / width**2 for flips in range(width + 1)]
    return profile([(n * chance[a], n * chance[b]) for (a, b), n in kinds.items()], epsilon)


def subsets(options: int, size: int, local: Fraction, epsilon: Fraction) -> Number:
    """All sets of so many values."""
    grown = mp.exp(real(local))
    kinds = Counter((0 in held, 1 in held) for held in itertools.combinations(range(options), size))
    whole = mp.fsum(n * (grown if own else 1) for (own, _), n in kinds.items())
    law = [(n * (grown if a else 1) / whole, n * (grown if b else 1) / whole) for (a, b), n in kinds.items()]
    return profile(law, epsilon)


def hadamard(options: int, one: int, other: int, local: Fraction, epsilon: Fraction) -> Number:
    """All columns, of a matrix that is made by Sylvester's doubling."""
    rows = [[1]]
    while len(rows) <= options:
        rows = [row + row for row in rows] + [row + [-entry for entry in row] for row in rows]
    grown = mp.exp(real(local))
    laws = [[grown if entry == 1 else mpf(1) for entry in rows[value + 1]] for value in (one, other)]
    here, there = ([weight / mp.fsum(law) for weight in law] for law in laws)
    return both_ways(here, there, epsilon)


def number(pieces: str, local: Fraction, epsilon: Fraction) -> Number:
    """The largest over pairs of -1, -1/2, 0, 1/2 and 1: two numbers, or densities that are constant in pieces."""
    root = mp.exp(real(local) / 2)
    share = {"duchi": mpf(0), "piecewise": mpf(1), "hybrid": 1 - 1 / root if local > Fraction(61, 100) else mpf(0)}
    in_pieces = share[pieces]
    end = (root + 1) / (root - 1)
    values = [real(Fraction(x, 2)) for x in range(-2, 3)]

    def likely(x: Number) -> tuple[Number, Number]:
        low = (end + 1) / 2 * x - (end - 1) / 2
        return low, low + end - 1

    def law(x: Number, knots: list[Number]) -> Law:
        up = mpf(1) / 2 + x * (root**2 - 1) / (2 * (root**2 + 1))
        low, high = likely(x)
        found = [(1 - in_pieces) * up, (1 - in_pieces) * (1 - up)]
        for a, b in itertools.pairwise(knots):
            inside = low <= (a + b) / 2 <= high
            chance = root / (root + 1) / (end - 1) if inside else 1 / (root + 1) / (end + 1)
            found.append(in_pieces * chance * (b - a))
        return found

    largest = mpf(0)
    for x, y in itertools.combinations(values, 2):
        knots = sorted({-end, end, *(min(max(k, -end), end) for k in (*likely(x), *likely(y)))})
        largest = max(largest, both_ways(law(x, knots), law(y, knots), epsilon))
    return largest


# noise ----------------------------------------------------------------------------------------------------------------


def gaussian(mu_squared: Fraction | Number, epsilon: Number) -> Number:
    if not mu_squared:
        return max(1 - mp.exp(epsilon), mpf(0))
    mu = mp.sqrt(real(mu_squared) if isinstance(mu_squared, Fraction) else mu_squared)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def laplace(moves: Sequence[Number], epsilon: Number) -> Number:
    """Of independent Laplace noise of scale 1 on sums that move so far.

    Each loss is a with chance 1/2, -a with chance e^-a/2, else it has the density e^((s - a)/2)/4 on (-a, a). The
    volume of those that are within, at a given sum, is a piecewise polynomial; its integrals with exponentials are
    taken by parts.
    """

    def integral(power: int, rate: Number, start: Number, stop: Number) -> Number:
        def at(u: Number) -> Number:
            return mp.exp(rate * u) * mp.fsum(
                (-1) ** m * mp.ff(power, m) * u ** (power - m) / rate ** (m + 1) for m in range(power + 1)
            )

        return at(stop) - at(start) if stop > start else mpf(0)

    parts: list[Number] = []
    for ends in itertools.product((1, -1, 0), repeat=len(moves)):
        offset = mp.fsum(end * a for end, a in zip(ends, moves, strict=True))
        weight = mp.fprod(mpf(1) / 2 if end > 0 else mp.exp(-a) / 2 for end, a in zip(ends, moves, strict=True) if end)
        within = [a for end, a in zip(ends, moves, strict=True) if not end]
        left = epsilon - offset
        if not within:
            parts.append(weight * max(1 - mp.exp(left), mpf(0)))
            continue
        reach = mp.fsum(within)
        weight *= mp.exp(-reach / 2) / mpf(4) ** len(within) / mp.factorial(len(within) - 1)
        for chosen in itertools.product((0, 1), repeat=len(within)):
            knot = -reach + 2 * mp.fsum(c * a for c, a in zip(chosen, within, strict=True))
            start = max(left - knot, mpf(0))
            half, power = mpf(1) / 2, len(within) - 1
            forth = mp.exp(knot / 2) * integral(power, half, start, reach - knot)
            back = mp.exp(left - knot / 2) * integral(power, -half, start, reach - knot)
            parts.append((-1) ** sum(chosen) * weight * (forth - back))
    return mp.fsum(parts)


def moved(law: Law, move: int, epsilon: Fraction, modulus: int = 0) -> Number:
    """Of a law on whole numbers and itself, ``move`` further; perhaps modulo M."""
    here, there = [mpf(0)] * move + law, law + [mpf(0)] * move
    if modulus:
        folded = [[mp.fsum(side[at::modulus]) for at in range(modulus)] for side in (here, there)]
        return both_ways(folded[0], folded[1], epsilon)
    return both_ways(here, there, epsilon)


def convolved(one: Law, other: Law) -> Law:
    found = [mpf(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            found[i + j] += a * b
    return found


def whole_gaussian(variance: Fraction) -> Law:
    reach = math.ceil(FAR / 2 * math.sqrt(variance)) + 5
    weights = [mp.exp(-real(Fraction(z * z) / (2 * variance))) for z in range(-reach, reach + 1)]
    return [weight / mp.fsum(weights) for weight in weights]


def whole_moves(sizes: Sequence[int], variance: Fraction, epsilon: Fraction) -> Number:
    """Discrete Gaussian noise on sums that move so far: by the sum of size (2 z - size), on which the loss depends."""
    law = whole_gaussian(variance)
    found = {0: (mpf(1), mpf(1))}
    for size in sizes:
        grown: dict[int, tuple[Number, Number]] = {}
        here, there = [mpf(0)] * size + law, law + [mpf(0)] * size
        for seen, (p, q) in found.items():
            for z, (a, b) in enumerate(zip(here, there, strict=True)):
                at = seen + size * (2 * (z - len(law) // 2) - size)
                mine, others = grown.get(at, (mpf(0), mpf(0)))
                grown[at] = mine + p * a, others + q * b
        found = grown
    return profile(list(found.values()), epsilon)


@functools.lru_cache(maxsize=64)
def shares(name: str, size: Fraction, present: int, parties: int) -> tuple[Number, ...]:
    """The law of the sum of the shares that are there."""
    if name == "binomial":
        coins = int(4 * size) * present
        return tuple(mpf(math.comb(coins, at)) / mpf(2) ** coins for at in range(coins + 1))
    if name == "discrete-gaussian":
        one = whole_gaussian(size)
        total = one
        for _ in range(present - 1):
            total = convolved(total, one)
        return tuple(total)
    if name == "skellam":
        half = real(size * present) / 2
        reach = math.ceil(half + 14 * mp.sqrt(half)) + 40
        side = [mp.exp(-half) * half**j / mp.factorial(j) for j in range(reach)]
    else:
        ratio, shape = mp.exp(-1 / real(size)), real(Fraction(present, parties))
        reach = math.ceil(FAR * 2 * size) + 40
        side = [mp.rf(shape, j) / mp.factorial(j) * ratio**j * (1 - ratio) ** shape for j in range(reach)]
    return tuple(convolved(side, side[::-1]))


# keys -----------------------------------------------------------------------------------------------------------------


def new_and_old_keys(
    noise: str, scale: Fraction, threshold: Fraction, keys: int, per_key: int, replaced: bool, epsilon: Fraction
) -> Number:
    """Laplace or Gaussian noise: the largest over the numbers of keys that one dataset alone has."""
    far = real((threshold - per_key) / scale)
    if noise == "gaussian":
        shown = mp.ncdf(-far)
    else:
        shown = mp.exp(-far) / 2 if far >= 0 else 1 - mp.exp(far) / 2
    hidden, move, level = 1 - shown, real(per_key / scale), real(epsilon)
    largest = mpf(0)
    for here, there in itertools.product(range(keys + 1), range(keys + 1) if replaced else (0,)):
        both = (2 if replaced else 1) * keys - here - there
        for mine, others in ((here, there), (there, here)):
            at = level + (others - mine) * mp.log(hidden)
            rest = gaussian(both * move**2, at) if noise == "gaussian" else laplace([move] * both, at)
            largest = max(largest, 1 - hidden**mine + hidden**mine * rest)
    return largest


def keys_written_out(
    scale: Fraction, threshold: Fraction, keys: int, per_key: int, replaced: bool, epsilon: Fraction
) -> Number:
    """Geometric noise: every count that others may have, every move of a count, every number that is released."""
    least, last = math.ceil(threshold), math.ceil(threshold) + 2 * per_key + 3
    ratio = mp.exp(-1 / real(scale))

    def tail(at: int) -> Number:
        """P(Z >= at)"""
        return ratio**at / (1 + ratio) if at >= 1 else 1 - ratio ** (1 - at) / (1 + ratio)

    def law(count: int) -> Law:
        """Withheld; each number up to ``last``; beyond, where all numbers have one ratio."""
        if not count:
            return [mpf(1)] + [mpf(0)] * (last - least + 2)
        point = [ratio ** abs(z - count) * (1 - ratio) / (1 + ratio) for z in range(least, last + 1)]
        return [1 - tail(least - count), *point, tail(last + 1 - count)]

    counts = range(least + per_key + 3)
    if any(count + per_key > last for count in counts):
        raise ValueError("a count lies beyond the numbers that are written out")
    outcomes = {count: law(count) for count in range(counts.stop + per_key)}
    singles = [(count, count + move) for count in counts for move in range(1, per_key + 1)]
    pairs = {key: grouped(zip(outcomes[key[1]], outcomes[key[0]], strict=True)) for key in singles}
    turned = {key: [(q, p) for p, q in pair] for key, pair in pairs.items()}
    ways: Iterator[Sequence[list[tuple[Number, Number]]]]
    if replaced:
        if keys != 1:
            raise ValueError("two keys of one user are not written out where the user is replaced")
        ways = ((pairs[a], turned[b]) for a in singles for b in singles)
    else:
        ways = itertools.combinations_with_replacement(list(pairs.values()), keys)
    return max(profile(product(way), epsilon) for way in ways)


def one_of_optimal_keys(a: Fraction, b: Fraction, epsilon: Fraction) -> Number:
    """Of one key: the largest over the numbers of others, by the recursion in the paper."""
    grown, share, chances = mp.exp(real(a)), real(b), [mpf(0)]
    while chances[-1] < 1:
        last = chances[-1]
        chances.append(min(grown * last + share, 1 - (1 - last - share) / grown, mpf(1)))
    return max(both_ways([p, 1 - p], [q, 1 - q], epsilon) for p, q in itertools.pairwise(chances))


# bounded users, quantiles, shuffled reports ---------------------------------------------------------------------------


def differences(
    dim: int, keys: int, most: int, l1: int | None, l2: Fraction | None, low: bool, replaced: bool
) -> set[tuple[tuple[int, ...], Number]]:
    """Of every user with sums that are halves, written out: by how many halves the sums move, in falling order, and the
    squared l2 norm of the move; the norms are bounded as in the mechanism.
    """
    sums = range(-most if low else 0, most + 1)
    users = [
        user
        for user in itertools.product(sums, repeat=dim)
        if sum(map(bool, user)) <= keys and (l1 is None or sum(map(abs, user)) <= l1)
    ]

    def kept(user: tuple[int, ...]) -> tuple[float, ...]:
        size = math.sqrt(sum(s * s for s in user))
        short = 1.0 if l2 is None or size <= 2 * float(l2) else 2 * float(l2) / size
        return tuple(s * short for s in user)

    found = set()
    others = users if replaced else [(0,) * dim]
    for one, other in itertools.product(users, others):
        moves = tuple(sorted((abs(a - b) for a, b in zip(one, other, strict=True)), reverse=True))
        square = sum((a - b) ** 2 for a, b in zip(kept(one), kept(other), strict=True)) / 4
        found.add((moves, square))
    return found


def range_of_ranks(quantile: Fraction, replaced: bool, most: int) -> Fraction:
    """By how much |rank - q n| moves at two points relative to each other: all ranks of up to so many values."""
    largest = Fraction(0)
    for n, turned in itertools.product(range(1, most + 1), (1, -1) if replaced else (-1,)):
        after = n if replaced else n - 1
        changes = {
            abs(rank + move - quantile * after) - abs(rank - quantile * n)
            for rank in range(n + 1)
            for move in (0, turned)  # of the rank at a point that a value passes, or at another
            if 0 <= rank + move <= after
        }
        largest = max(largest, max(changes) - min(changes))
    return largest


def bounded_range(reach: Fraction, epsilon: Fraction) -> Number:
    """Two outcomes with the losses t and t - reach: the largest over t, by a search."""
    far, level = real(reach), real(epsilon)

    def at(t: Number) -> Number:
        chance = mp.expm1(far - t) / (mp.exp(far - t) - mp.exp(-t))
        return chance * -mp.expm1(level - t)

    low, high = level, far
    for _ in range(400):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if at(one) < at(two) else (low, two)
    return at((low + high) / 2)


def report_laws(randomizer: str, options: int, local: Fraction) -> list[Law]:
    """Of every value the chances of all reports."""
    grown, root = mp.exp(real(local)), mp.exp(real(local) / 2)
    if randomizer == "randomized-response":
        return [[(grown if i == j else 1) / (grown + options - 1) for i in range(options)] for j in range(options)]
    if randomizer == "hadamard-response":
        rows = [[1]]
        while len(rows) <= options:
            rows = [row + row for row in rows] + [row + [-entry for entry in row] for row in rows]
        return [[(grown if e > 0 else 1) / (len(row) // 2 * (grown + 1)) for e in row] for row in rows[1 : options + 1]]
    symmetric = randomizer == "symmetric-unary-encoding"
    own, other = (root / (root + 1), 1 / (root + 1)) if symmetric else (mpf(1) / 2, 1 / (grown + 1))
    chances = [[own if i == value else other for i in range(options)] for value in range(options)]
    rows = [list(row) for row in itertools.product((0, 1), repeat=options)]
    return [[mp.fprod(c if b else 1 - c for b, c in zip(row, law, strict=True)) for row in rows] for law in chances]


def shuffled(laws: list[Law], people: int, epsilon: Fraction) -> Number:
    """Every multiset of reports, for everything that others may have."""

    def counts(values: Sequence[int]) -> dict[tuple[int, ...], Number]:
        found = {(0,) * len(laws[0]): mpf(1)}
        for value in values:
            grown: dict[tuple[int, ...], Number] = {}
            for seen, chance in found.items():
                for outcome, share in enumerate(laws[value]):
                    after = (*seen[:outcome], seen[outcome] + 1, *seen[outcome + 1 :])
                    grown[after] = grown.get(after, mpf(0)) + chance * share
            found = grown
        return found

    largest = mpf(0)
    for others in itertools.combinations_with_replacement(range(len(laws)), people - 1):
        here, there = counts([0, *others]), counts([1, *others])
        largest = max(largest, both_ways(list(here.values()), [there[seen] for seen in here], epsilon))
    return largest
