"""Andersson et al. 2024, sections 2 to 3.2: unbiased errors, ordinary digits, Algorithm 1, its privacy, its error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import sympy
from sympy import Integer, Symbol

from dpverdict.mechanisms.streams.tree import TreeDigits, unit_mean_squared_error
from dpverdict.mechanisms.streams.tree_counter import TreeCounter
from dpverdict.proofs.andersson2024.shared.brute_force import (
    ORDINARY,
    PRINTED,
    Instance,
    Lines,
    Span,
    all_strings,
    columns,
    counted,
    factors,
    instances,
    is_prefix_sum,
    sensitivity,
    sizes_in_time,
    vertices_of,
)
from dpverdict.proofs.andersson2024.shared.notation import PAPER, RESTORED, epsilon, h, k
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, statement
from dpverdict.proofs.checks.vertices import every

SMALL = instances(ORDINARY, range(2, 10), 130)


@statement(
    paper=PAPER,
    number="sec2.mse",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="For unbiased mechanisms the mean squared error equals the average variance.",
    formula=r"\frac{1}{T} E\|M(x) - Ax\|^2 = \frac{1}{T}\sum_t \mathrm{Var}(M(x)_t)",
    printed=(0, lambda horizon: Fraction(1, horizon)),
    confirms={"average of the variances": "bias adds its square"},
    planted=(
        Plant("bias adds its square", "twice the squared bias", (1, lambda horizon: Fraction(1, horizon))),
        Plant("average of the variances", "1/(T+1)", (0, lambda horizon: Fraction(1, horizon + 1))),
    ),
)
def mean_squared_error(claim: tuple[int, Callable[[int], Fraction]]) -> Findings:
    """E(Y - y)^2 = Var(Y) + (E Y - y)^2 for each output; and so does the counter of this project add it up."""
    extra, weight = claim
    second, mean, true = sympy.symbols("m2 m y", real=True)  # E Y^2, E Y, y
    variance, bias = second - mean**2, mean - true
    error = second - 2 * true * mean + true**2
    yield identity("bias adds its square", error, variance + (1 + extra) * bias**2, scope="every law with a variance")
    counters = [TreeCounter(horizon=t, epsilon="1/2", arity=a) for a, t in ((2, 7), (3, 40), (4, 9), (19, 200))]
    yield every(
        "average of the variances",
        counters,
        lambda made: (
            made.mean_squared_error()
            == weight(made.horizon) * sum(made.variance_at(t) for t in range(1, made.horizon + 1))
        ),
        over="counters",
        cases=4,
    )


class Tree(NamedTuple):
    """The ends of vertex j of level l in a tree of arity k, and the first child of a vertex."""

    left: Formula
    right: Formula
    first_child: Formula


TREE = Tree(lambda k, level, j: 1 + (j - 1) * k**level, lambda k, level, j: j * k**level, lambda k, j: k * (j - 1) + 1)


@statement(
    paper=PAPER,
    number="def3.1",
    restored=RESTORED,
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS,
    text="For integers k >= 2 and h >= 1, the k-ary tree of height h has k^h leaves; its vertices of level l are the "
    "intervals [(j-1) k^l + 1, j k^l], and a vertex is a child of another if it is contained in it, one level down.",
    formula=r"V_\ell = \{[(j-1)k^\ell + 1,\ jk^\ell] : j = 1..k^{h-\ell}\}",
    printed=TREE,
    planted=(
        Plant("a level begins at leaf 1", "j k^l + 1", TREE._replace(left=lambda k, level, j: 1 + j * k**level)),
        Plant("no gaps", "(j-1) k^l", TREE._replace(left=lambda k, level, j: (j - 1) * k**level)),
        Plant("a level ends at leaf k^h", "j k^l - 1", TREE._replace(right=lambda k, level, j: j * k**level - 1)),
        Plant("the first child begins with its parent", "k j", TREE._replace(first_child=lambda k, j: k * j)),
        Plant("the last child ends with its parent", "k j", TREE._replace(first_child=lambda k, j: k * j)),
    ),
)
def tree(claim: Tree) -> Findings:
    """The intervals of a level tile 1..k^h, and k consecutive ones tile one of the level above."""
    level, j = Symbol("l", integer=True, positive=True), Symbol("j", integer=True, positive=True)
    scope = "all k, h, l, j"
    yield identity(
        "a level begins at leaf 1", claim.left(k, level, Integer(1)), Integer(1), scope=scope, dropped=(k, level)
    )
    yield identity("no gaps", claim.left(k, level, j + 1), claim.right(k, level, j) + 1, scope=scope)
    yield identity("a level ends at leaf k^h", claim.right(k, level, k ** (h - level)), k**h, scope=scope)
    first = claim.first_child(k, j)
    yield identity(
        "the first child begins with its parent",
        claim.left(k, level - 1, first),
        claim.left(k, level, j),
        scope=scope,
    )
    yield identity(
        "the last child ends with its parent",
        claim.right(k, level - 1, first + k - 1),
        claim.right(k, level, j),
        scope=scope,
    )


class System(NamedTuple):
    """A digit system with the numbers it is claimed to write with w digits: from the least to the largest."""

    span: Span
    least: Callable[[int, int], int]
    largest: Callable[[int, int], int]
    arities: range


def is_bijection(claim: System, case: tuple[int, int]) -> bool:
    """The strings write every number of the range exactly once."""
    arity, width = case
    values = np.sort(all_strings(claim.span, arity, width)[0])
    return bool(
        np.array_equal(values, np.arange(claim.least(arity, width), claim.largest(arity, width) + 1, dtype=np.int64))
    )


def up_to(arities: Iterable[int], most: int) -> list[tuple[int, int]]:
    """All (k, w) with k^w <= most."""
    return [(arity, w) for arity in arities for w in range(1, 20) if arity**w <= most]


REP = System(ORDINARY, lambda arity, width: 0, lambda arity, width: arity**width - 1, range(2, 12))


@statement(
    paper=PAPER,
    number="def3.2",
    restored=RESTORED,
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS_ON_RANGE,
    text="Let k, w and t be such that t <= k^w - 1. Then rep_k(t, w) is the unique vector in {0, ..., k-1}^w with "
    "sum_i k^(i-1) t_i = t.",
    formula=r"\sum_{i=1}^{w} k^{i-1} t_i = t",
    printed=REP,
    planted=(
        Plant("unique and complete", "t <= k^w", REP._replace(largest=lambda arity, width: arity**width)),
        Plant("the project's digits", "digits 1..k", REP._replace(span=Span(lambda k: 1, lambda k: k))),
    ),
)
def ordinary_digits(claim: System) -> Findings:
    """All digit strings against all numbers of the range; uniqueness for all k, w is division with remainder."""
    cases = up_to(claim.arities, 60_000)
    yield every(
        "unique and complete",
        cases,
        lambda case: is_bijection(claim, case),
        over="k, w: k = 2..11, k^w <= 60000",
        cases=67,
        show=show_kw,
    )
    yield every(
        "the project's digits",
        [case for case in cases if case[0] ** case[1] <= 3000],
        lambda case: agrees(claim.span, *case, TreeDigits.ordinary(case[0])),
        over="k, w: k = 2..11, k^w <= 3000",
        cases=47,
        show=show_kw,
    )


def show_kw(case: tuple[int, int]) -> str:
    """(k, w) in a witness."""
    return f"k = {case[0]}, w = {case[1]}"


def agrees(span: Span, arity: int, width: int, digits: TreeDigits) -> bool:
    """`TreeDigits` has the digits of the span, and writes numbers that it reads back."""
    low, high = span.low(arity), span.high(arity)
    if (digits.subtracted, digits.largest) != (-low, high):
        return False
    written = [digits.encode(time, width) for time in range(digits.capacity(width) + 1)]
    if list(written[0]) != [0] * width or list(written[-1]) != [high] * width:  # the whole span, to its last number
        return False
    return all(
        digits.decode(one) == time and all(low <= digit <= high for digit in one) for time, one in enumerate(written)
    )


def is_vertex(arity: int, height: int, vertex: tuple[int, int]) -> bool:
    """Whether an interval is a vertex of the tree, strictly below the root."""
    first, last = vertex
    size = last - first + 1
    level = next((level for level in range(height) if arity**level == size), None)
    return level is not None and first >= 1 and (first - 1) % size == 0 and last <= arity**height


def sums_to_prefix(instance: Instance, span: Span, lines: Lines) -> bool:
    """The signed intervals of every time add up to [1, t] on all k^h leaves."""
    for time, digits in enumerate(instance.digits(span), 1):
        steps: Counter[int] = Counter()
        for use in vertices_of(digits, instance.arity, lines):
            steps[use.vertex[0]] += use.sign
            steps[use.vertex[1] + 1] -= use.sign
        if {place: step for place, step in steps.items() if step} != {1: 1, time + 1: -1}:
            return False
    return True


def all_are_vertices(instance: Instance, span: Span, lines: Lines) -> bool:
    """Every interval used is a vertex strictly below the root."""
    height = instance.height(span)
    return all(is_vertex(instance.arity, height, vertex) for vertex in columns(instance, span, lines))


def matches_project(instance: Instance, span: Span, lines: Lines) -> bool:
    """The counter of this project uses the same vertices at the same times with the same signs, and L R = A."""
    made = factors(instance, span)
    return is_prefix_sum(made) and counted(made) == Counter(columns(instance, span, lines).values())


@statement(
    paper=PAPER,
    number="alg1",
    restored=RESTORED,
    kind=StatementKind.ALGORITHM,
    expected=Standing.HOLDS_ON_RANGE,
    text="Algorithm 1, lines 6-13: out += S[p+1, p + k^(i-1)] and p += k^(i-1), t_i times on every level i, gives the "
    "prefix sum up to t.",
    formula=r"L R = A_T",
    printed=PRINTED,
    planted=(
        Plant("prefix sums", "[p, p + k^(i-1) - 1]", PRINTED._replace(added=lambda p, block: (p, p + block - 1))),
        Plant("vertices of the tree", "[p, p + k^(i-1)]", PRINTED._replace(added=lambda p, block: (p, p + block))),
        Plant("the counter of this project", "[p+1, p + 1]", PRINTED._replace(added=lambda p, block: (p + 1, p + 1))),
    ),
)
def algorithm_1(claim: Lines) -> Findings:
    """The lines as printed; and the matrices L and R of `TreeCounter` with ordinary digits."""
    yield every("prefix sums", SMALL, lambda case: sums_to_prefix(case, ORDINARY, claim), over="k, T", cases=196)
    yield every(
        "vertices of the tree", SMALL, lambda case: all_are_vertices(case, ORDINARY, claim), over="k, T", cases=196
    )
    yield every(
        "the counter of this project",
        SMALL,
        lambda case: matches_project(case, ORDINARY, claim),
        over="k, T",
        cases=196,
    )


class Fewest(NamedTuple):
    """How many vertices a prefix sum up to t needs, by arity and t."""

    added: Callable[[int, int], int]
    subtracted_too: Callable[[int, int], int]


def fewest(arity: int, height: int, *, both_ways: bool) -> list[int]:
    """The least number of vertices that make the prefix sum up to every t = 0..k^h, by breadth first.

    A vertex over the items p + 1 .. q is an edge from p to q, which adds it; with ``both_ways`` the edge from q to p
    subtracts it. So sums of vertices that are the items 1 .. t are the paths from 0 to t.
    """
    last = arity**height
    edges: dict[int, list[int]] = {place: [] for place in range(last + 1)}
    for level in range(height + 1):
        for first in range(0, last, arity**level):
            edges[first].append(first + arity**level)
            if both_ways:
                edges[first + arity**level].append(first)
    found, reached = {0: 0}, [0]
    for place in reached:
        for beside in edges[place]:
            if beside not in found:
                found[beside] = found[place] + 1
                reached.append(beside)
    return [found[place] for place in range(last + 1)]


def digits(number: int, base: int, least: int) -> list[int]:
    """The digits of a number, the lowest first, from ``least`` to ``least`` + base - 1."""
    found = []
    while number:
        digit = (number - least) % base + least
        found.append(digit)
        number = (number - digit) // base
    return found


PICTURED = Fewest(
    lambda arity, t: sum(digits(t, arity, 0)), lambda arity, t: sum(map(abs, digits(t, arity, -(arity - 1) // 2)))
)


@statement(
    paper=PAPER,
    number="figs",
    restored="what the figures show, from the words that refer to them: the text supplied has no figures",
    kind=StatementKind.FIGURE,
    expected=Standing.HOLDS_ON_RANGE,
    text="(Figures 1 and 2) The digits of t in base k tell which vertices of the complete k-ary tree contribute to a "
    "prefix sum; vertex subtraction reduces the number of vertices required to compute it.",
    formula=r"\sum_i t_i\ \ \mathrm{and}\ \ \sum_i |\hat{t}_i|",
    printed=PICTURED,
    planted=(
        Plant(
            "Figure 1: no fewer than the digits",
            "a vertex for each digit that is not 0",
            PICTURED._replace(added=lambda arity, t: sum(map(bool, digits(t, arity, 0)))),
        ),
        *(
            Plant(condition, "the digits", PICTURED._replace(subtracted_too=PICTURED.added))
            for condition in ("Figure 2: no fewer than the offset digits", "subtraction needs fewer")
        ),
    ),
)
def figures_1_and_2(claim: Fewest) -> Findings:
    """Breadth first over all sums of vertices, the root among them, which t < k^h cannot use without subtraction."""
    yield every(
        "Figure 1: no fewer than the digits",
        [(arity, height) for arity in range(2, 8) for height in range(1, 5) if arity**height <= 400],
        lambda case: all(
            least == claim.added(case[0], t) for t, least in enumerate(fewest(*case, both_ways=False)[:-1])
        ),
        over="k, h: t = 0..k^h - 1",
        cases=21,
    )
    odd = [(arity, height) for arity in (3, 5, 7, 9) for height in range(1, 5) if arity**height <= 400]
    yield every(
        "Figure 2: no fewer than the offset digits",
        odd,
        lambda case: all(
            least == claim.subtracted_too(case[0], t)
            for t, least in enumerate(fewest(*case, both_ways=True)[: (case[0] ** case[1] + 1) // 2])
        ),
        over="k, h: t = 0..(k^h - 1)/2",
        cases=12,
    )
    yield every(
        "subtraction needs fewer",
        [case for case in odd if case != (3, 1)],
        lambda case: (
            sum(claim.subtracted_too(case[0], t) for t in range(case[0] ** case[1]))
            < sum(claim.added(case[0], t) for t in range(case[0] ** case[1]))
        ),
        over="k, h: t = 0..k^h - 1 together",
        cases=11,
    )


class Sensitivity(NamedTuple):
    """The l1 sensitivity as a function of the height, and the item that attains it."""

    of_height: Callable[[int], int]
    item: int


def touched(instance: Instance, span: Span, item: int) -> int:
    """The number of used vertices that contain an item, by the printed lines."""
    return sum(first <= item <= last for first, last in columns(instance, span))


@statement(
    paper=PAPER,
    number="lem3.3",
    restored=RESTORED,
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS_ON_RANGE,
    text="The output from Algorithm 1 satisfies epsilon-DP: two neighbouring inputs differ at exactly h used vertices.",
    formula=r"\Delta_1(R) = h",
    printed=Sensitivity(lambda height: height, 1),
    needs=(
        "lemA.2",
        "def3.1",
        "alg1",
    ),
    planted=(
        Plant("sensitivity of the counter", "h - 1", Sensitivity(lambda height: height - 1, 1)),
        Plant("no item is in more vertices", "h - 1", Sensitivity(lambda height: height - 1, 1)),
        Plant("attained", "by item 2", Sensitivity(lambda height: height, 2)),
        Plant("scale of the noise", "(h+1)/epsilon", Sensitivity(lambda height: height + 1, 1)),
    ),
    assumptions=("the Laplace mechanism (Lemma A.2)",),
)
def lemma_3_3(claim: Sensitivity) -> Findings:
    """A level tiles the leaves (Definition 3.1), so an item lies in one vertex of each of the h levels used."""
    yield every(
        "sensitivity of the counter",
        SMALL,
        lambda case: sensitivity(factors(case, ORDINARY)) == claim.of_height(case.height(ORDINARY)),
        over="k, T",
        argued="for all k, T by Definition 3.1",
        cases=196,
    )
    yield every(
        "no item is in more vertices",
        [case for case in SMALL if case.horizon <= 30],
        lambda case: all(
            touched(case, ORDINARY, item) <= claim.of_height(case.height(ORDINARY))
            for item in range(1, case.horizon + 1)
        ),
        over="k, T",
        argued="for all k, T by Definition 3.1",
        cases=167,
    )
    yield every(
        "attained",
        SMALL,
        lambda case: touched(case, ORDINARY, claim.item) == case.height(ORDINARY),
        over="k, T",
        argued="for all k, T by Definition 3.1",
        cases=196,
    )
    counters = [TreeCounter(horizon=t, epsilon="1/3", arity=a, digits="ordinary") for a, t in SMALL[::7]]
    yield every(
        "scale of the noise",
        counters,
        lambda made: made.noise.rate * claim.of_height(made.height) == Fraction(1, 3),
        over="counters",
        cases=28,
    )


def _kary_error(k: Expr, h: Expr, epsilon: Expr) -> Expr:
    return (k - 1) * h**3 / (epsilon**2 * (1 - k ** (-h)))


def total_sizes(span: Span, arity: int, width: int) -> int:
    """The sum of the sizes of t = 1, ..., up to the largest number of the width, from the list of all strings."""
    return int(sizes_in_time(span, arity, width).sum())


@statement(
    paper=PAPER,
    number="lem3.5",
    restored=RESTORED,
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="Algorithm 1 achieves a mean squared error of (k-1) h^3/(epsilon^2 (1 - k^-h)) over T = k^h - 1 outputs.",
    formula=r"\frac{(k-1)h^3}{\varepsilon^2(1 - k^{-h})}",
    printed=_kary_error,
    needs=("sec2.mse",),
    confirms={"of the counter": "from the digits", "of all strings": "from the digits"},
    planted=(
        Plant("from the digits", "k for k - 1", lambda k, h, epsilon: k * h**3 / (epsilon**2 * (1 - k ** (-h)))),
        Plant("of the counter", "1 + k^-h", lambda k, h, epsilon: (k - 1) * h**3 / (epsilon**2 * (1 + k ** (-h)))),
        Plant("of all strings", "h^2", lambda k, h, epsilon: (k - 1) * h**2 / (epsilon**2 * (1 - k ** (-h)))),
    ),
)
def lemma_3_5(error: Formula) -> Findings:
    """Each of h digits takes its k values equally often: mean (k-1)/2; t = 0 is left out; a vertex has 2 h^2/eps^2."""
    d = Symbol("d", integer=True)
    mean = sympy.summation(d, (d, 0, k - 1)) / k
    derived = h * mean * k**h / (k**h - 1) * 2 * h**2 / epsilon**2
    yield identity("from the digits", derived, error(k, h, epsilon), scope="all k >= 2, h >= 1, eps > 0")
    yield every(
        "of the counter",
        [(arity, width) for arity in range(2, 80) for width in range(1, 30, 2)],
        lambda case: (
            unit_mean_squared_error(TreeDigits.ordinary(case[0]), case[0] ** case[1] - 1)
            == error(Fraction(case[0]), case[1], 1)
        ),
        over="k, h: k < 80, odd h < 30: `TreeCounter`'s closed form",
        cases=1170,
        show=show_kw,
    )
    yield every(
        "of all strings",
        up_to(range(2, 12), 60_000),
        lambda case: (
            Fraction(2 * case[1] ** 2 * total_sizes(ORDINARY, *case), case[0] ** case[1] - 1)
            == error(Fraction(case[0]), case[1], 1)
        ),
        over="k, h: k = 2..11, k^h <= 60000: digit strings",
        cases=67,
        show=show_kw,
    )


def never_above(span: Span, arity: int, width: int, slack: int) -> bool:
    """S(T)/T <= S(T_w)/T_w (or its multiple by (slack - 1)/slack) for every T of this height; S adds up the sizes."""
    sums = np.cumsum(sizes_in_time(span, arity, width))
    first = len(sizes_in_time(span, arity, width - 1)) if width > 1 else 1
    times = np.arange(first, len(sums), dtype=np.int64)
    left = sums[first:] * times[-1] * slack
    return bool(np.all(left <= sums[-1] * times * (slack - 1 if slack > 1 else 1)))


@statement(
    paper=PAPER,
    number="lem3.5.anyT",
    kind=StatementKind.RESULT,
    expected=Standing.HOLDS,
    text="For every T, not only a full one, the mean squared error of Algorithm 1 is at most the formula of Lemma 3.5 "
    "with h = ceil(log_k(T+1)).",
    formula=r"\frac{1}{T}\sum_{t \leq T} \|t\|_1 \leq \frac{h(k-1)}{2(1 - k^{-h})}",
    printed=(1, 1),
    needs=("lem3.5",),
    confirms={"every horizon": "the logarithm is above its chord"},
    planted=(
        Plant("every horizon", "1 % less", (100, 1)),
        Plant("N ln(N)/(N-1) increases", "N - 1 + ln N", (1, -1)),
        Plant("the logarithm is above its chord", "below", (1, -1)),
    ),
    assumptions=("the entropy of a law is concave in the law",),
    new=True,
)
def lemma_3_5_any_horizon(claim: tuple[int, int]) -> Findings:
    """D(N), the digits of 0..N-1 added up, is at most (k-1)/2 N log_k N; and N log_k(N)/(N-1) increases up to k^h.

    By induction: 0..N-1 has N_0 >= ... >= N_(k-1) numbers with lowest digit 0..k-1, so D(N) = sum D(N_i) + i N_i, and
    it is enough that the mean of i under p_i = N_i/N is at most (k-1)/2 times its entropy to the base k. Such p is a
    mixture of uniform laws on 0..m-1, with mean (m-1)/2 and entropy log_k m; and (m-1)/(k-1) <= log_k m for m <= k,
    because the logarithm is concave: with m = 1 + s (k-1), its second derivative in s is negative.
    """
    slack, sign = claim
    n, s = Symbol("N", positive=True), Symbol("s", nonnegative=True)
    slope = sympy.diff(n * sympy.log(n) / (n - 1), n) * (n - 1) ** 2
    yield identity("N ln(N)/(N-1) increases", slope, n - 1 - sign * sympy.log(n), scope="all N > 1: ln N <= N - 1")
    second = sympy.diff(sympy.log(1 + s * (k - 1)), s, 2)
    yield nonnegative("the logarithm is above its chord", -sign * second, {s: 0, k: 2}, scope="all k >= 2, 0 <= s <= 1")
    yield every(
        "every horizon",
        up_to(range(2, 18), 200_000),
        lambda case: never_above(ORDINARY, *case, slack),
        over="k, h: T < k^h <= 200000",
        argued="for all k, T by the two conditions before",
        cases=99,
        show=show_kw,
    )
