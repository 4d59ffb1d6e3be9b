"""The tests of each way to make batches: what is counted, and with which probability the claim has it.

What a test looks for is fixed before the batches that decide are looked at: by the claim, by the numbers of the
records and batches, or by the first half of the batches, of which the second half is independent under the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import scipy

from dpverdict.audit.batches.claim import BatchClaim, Making
from dpverdict.audit.batches.counts import SMALLEST_TAIL, CountTest, excluded, most_telling
from dpverdict.audit.batches.drawn import DrawnBatches, batch_pairs, counted
from dpverdict.numerics.arrays import Array, Integers

BLOCKS: Final = 16
ANCHORS: Final = 200
Tail: TypeAlias = Callable[[int, int, int], float]
"""The probability that two batches share at least k records, by k and their sizes."""
MOST_COMPARED: Final = 1000
"""Batches of which every two are compared."""


def tests_of(claim: BatchClaim, drawn: DrawnBatches) -> tuple[CountTest, ...]:
    """All tests of a claim on what was drawn."""
    return tuple(_TESTS[claim.making](claim, drawn))


def _poisson(claim: BatchClaim, drawn: DrawnBatches) -> Iterator[CountTest]:
    batches, n, q = _sets(drawn), drawn.records, float(claim.rate)
    number = len(batches)
    counts, sizes = counted(batches, n), _sizes(batches)
    yield _repeats(drawn)
    yield most_telling("rate", "records in batches, of all", np.array([counts.sum()]), n * number, q)
    yield most_telling("each record", "batches with record {}", counts, number, q)
    blocks = _blocks(n)
    yield most_telling(
        "blocks of records",
        f"records in batches, of block {{}} of {len(blocks)} of successive records",
        np.array([counts[block].sum() for block in blocks]),
        np.array([len(block) * number for block in blocks]),
        q,
    )
    times = _blocks(number)
    yield most_telling(
        "time",
        f"records in batches, in part {{}} of {len(times)} of the run",
        np.array([sizes[part].sum() for part in times]),
        np.array([len(part) * n for part in times]),
        q,
    )
    if drawn.length > 1:
        whole = np.array([[len(batch) for batch in one.batches] for one in drawn.whole])
        words = "records in batch {} of a pass, over all passes"
        yield most_telling("place in the pass", words, whole.sum(axis=0), n * len(whole), q)
    yield from _sizes_of_binomial(sizes, n, q, independent=True)
    yield from _common_tests(batches, n, q, q * q, drawn.length, n, independent=True)
    compared = batches[:MOST_COMPARED]
    each = np.arange(len(compared))
    yield _most_in_common(compared, n, lambda k, first, second: _upper_tail(k, n, q * q), each)
    yield _favourites(batches, n, counted_of=n, rate=q, independent=True)


def _fixed_size(claim: BatchClaim, drawn: DrawnBatches) -> Iterator[CountTest]:
    batches, n, b = _sets(drawn), drawn.records, min(claim.size, drawn.records)
    number, q = len(batches), b / n
    counts = counted(batches, n)
    yield _repeats(drawn)
    yield excluded("size", f"batches that have not {b} records", int((drawn.sizes != b).sum()), number)
    yield most_telling("each record", "batches with record {}", counts, number, q)
    blocks = _blocks(n)
    yield most_telling(
        "blocks of records",
        f"records in batches, of block {{}} of {len(blocks)} of successive records",
        np.minimum(np.array([counts[block].sum() for block in blocks]), b * number),
        b * number,
        np.array([len(block) / n for block in blocks]),
        independent=False,
    )
    together = b * (b - 1) / (n * (n - 1)) if n > 1 else 0.0
    yield from _common_tests(batches, n, q, together, drawn.length, b, independent=False)
    compared = batches[:MOST_COMPARED]
    each = np.arange(len(compared))
    yield _most_in_common(compared, n, lambda k, first, second: _drawn_tail(k, n, first, second), each)
    yield _favourites(batches, n, counted_of=b, rate=q, independent=False)


def _shuffle(claim: BatchClaim, drawn: DrawnBatches) -> Iterator[CountTest]:
    n, b = drawn.records, min(claim.size, drawn.records)
    yield _repeats(drawn)
    yield _once(drawn)
    number = -(-n // b)
    expected = np.array([b] * (number - 1) + [n - b * (number - 1)])
    wrong = sum(
        len(one.batches) != number or [len(batch) for batch in one.batches] != expected.tolist() for one in drawn.whole
    )
    yield excluded("size", f"passes whose batches do not have {_said(b, number, n)}", wrong, len(drawn.whole))
    cells = _cells(drawn)
    if not len(cells):
        return
    first, passes = drawn.length, len(cells)
    sizes = np.bincount(cells[cells >= 0], minlength=first)[:first] / passes
    yield from _places(cells, first, sizes / n, lambda block, share: round(share * n) * passes, independent=False)
    pairs = list(batch_pairs(passes, 1))
    if pairs:
        same = sum(np.bincount(cells[k][(cells[k] == cells[j]) & (cells[k] >= 0)], minlength=first) for k, j in pairs)
        words = "records in batch {} of two successive passes"
        trials = np.rint(sizes).astype(np.int64) * len(pairs)
        yield most_telling("successive passes", words, np.minimum(same, trials), trials, sizes / n, independent=False)
    for name, left, right in _pairings(n):
        both = np.where((cells[:, left] == cells[:, right]) & (cells[:, left] >= 0), cells[:, left], first)
        found = np.bincount(both.ravel(), minlength=first + 1)[:first]
        words = f"times {name} were together in batch {{}}"
        chance = sizes * np.maximum(sizes - 1, 0) / (n * (n - 1)) if n > 1 else 0 * sizes
        yield most_telling(f"pairs: {name}", words, found, len(left) * passes, chance, independent=False)
    yield _in_common_of_passes(drawn, lambda k, first, second: _drawn_tail(k, n, first, second))
    anywhere = float((sizes * (sizes - 1)).sum() / (n * (n - 1))) if n > 1 else 0.0
    yield from _companions_in_passes(cells, anywhere)


def _balls_in_bins(claim: BatchClaim, drawn: DrawnBatches) -> Iterator[CountTest]:
    n, bins = drawn.records, claim.bins
    q = 1 / bins
    yield _repeats(drawn)
    yield _once(drawn)
    wrong = sum(len(one.batches) != bins for one in drawn.whole)
    yield excluded("batches of a pass", f"passes that do not have {bins} batches", wrong, len(drawn.whole))
    cells = _cells(drawn)
    if not len(cells) or drawn.length != bins:
        return
    passes = len(cells)
    found = np.bincount(cells[cells >= 0], minlength=bins)
    yield most_telling("place in the pass", "records in batch {} of a pass, over all passes", found, n * passes, q)
    shares = np.full(bins, q)
    yield from _places(cells, bins, shares, lambda block, share: len(block) * passes, independent=True)
    sizes = np.array([len(batch) for one in drawn.whole for batch in one.batches])
    yield from _sizes_of_binomial(sizes, n, q, independent=False)
    pairs = list(batch_pairs(passes, 1))
    if pairs:
        same = sum(int(((cells[k] == cells[j]) & (cells[k] >= 0)).sum()) for k, j in pairs)
        words = "records in the same batch of two successive passes"
        yield most_telling("successive passes", words, np.array([same]), n * len(pairs), q)
    for name, left, right in _pairings(n):
        both = int(((cells[:, left] == cells[:, right]) & (cells[:, left] >= 0)).sum())
        words = f"times {name} were in the same batch"
        yield most_telling(f"pairs: {name}", words, np.array([both]), len(left) * passes, q)
    yield _in_common_of_passes(drawn, lambda k, first, second: _upper_tail(k, n, q * q))
    yield from _companions_in_passes(cells, q)


_TESTS: Final[dict[Making, Callable[[BatchClaim, DrawnBatches], Iterator[CountTest]]]] = {
    "poisson": _poisson,
    "fixed-size": _fixed_size,
    "shuffle": _shuffle,
    "balls-in-bins": _balls_in_bins,
}


# what several of them count -------------------------------------------------------------------------------------------


def _repeats(drawn: DrawnBatches) -> CountTest:
    return excluded("repetitions", "batches that hold a record twice", drawn.repeats, len(drawn.batches))


def _once(drawn: DrawnBatches) -> CountTest:
    n, passes = drawn.records, drawn.whole
    wrong = sum(int((counted(one.batches, n) != 1).sum()) for one in passes)
    words = "times a record was not in exactly one batch of a pass"
    if not passes:
        return excluded("once in a pass", "passes that did not end", len(drawn.passes), len(drawn.passes))
    return excluded("once in a pass", words, wrong, n * len(passes))


def _said(b: int, number: int, n: int) -> str:
    last = n - b * (number - 1)
    return f"{b} records each" if last == b else f"{b} records each, and the last one {last}"


def _sets(drawn: DrawnBatches) -> tuple[Integers, ...]:
    """The batches without repetitions."""
    return tuple(np.unique(batch) for batch in drawn.batches) if drawn.repeats else drawn.batches


def _sizes(batches: Sequence[Integers]) -> Integers:
    return np.array([len(batch) for batch in batches], dtype=np.int64)


def _blocks(n: int) -> list[Integers]:
    return [block for block in np.array_split(np.arange(n), min(BLOCKS, n)) if len(block)]


def _pairings(n: int) -> list[tuple[str, Integers, Integers]]:
    """Two ways to pair the records, none in two pairs."""
    half = n // 2
    numbers = np.arange(n)
    near = ("records 2j and 2j + 1", numbers[: 2 * half : 2], numbers[1 : 2 * half : 2])
    far = (f"records j and j + {half}", numbers[:half], numbers[half : 2 * half])
    return [near, far] if half > 1 else [near] if half else []


def _sizes_of_binomial(sizes: Integers, n: int, q: float, *, independent: bool) -> Iterator[CountTest]:
    """Of batch sizes that are each Bin(n, q): how many are larger or smaller than usual, and the most unusual one."""
    number = len(sizes)
    for deviations in (0.5, 1.5):  # the second sees batches that are cut
        spread = deviations * math.sqrt(n * q * (1 - q))
        high, low = math.ceil(n * q + spread), math.floor(n * q - spread)
        if low >= 0 and q < 1:
            below = float(scipy.stats.binom.cdf(low, n, q))
            words = f"batches with at most {low} records"
            found = np.array([(sizes <= low).sum()])
            yield most_telling("small batches", words, found, number, below, independent=independent)
        if high <= n and q < 1:
            above = _upper_tail(high, n, q)
            words = f"batches with at least {high} records"
            found = np.array([(sizes >= high).sum()])
            yield most_telling("large batches", words, found, number, above, independent=independent)
    yield most_telling("each batch", "records in batch {}", sizes, n, q)


def _common_tests(
    batches: Sequence[Integers], n: int, q: float, together: float, length: int, of_one: int, *, independent: bool
) -> Iterator[CountTest]:
    """Records of two batches, pairs of records in a batch, records that are covered, and companions."""
    number = len(batches)
    matrix = _matrix(batches, n)
    for lag in dict.fromkeys((1, length)):
        pairs = list(batch_pairs(number, lag)) if lag else []
        if pairs:
            first, second = np.array(pairs).T
            shared = int(matrix[first].multiply(matrix[second]).sum())
            trials = of_one * len(pairs)
            chance = q * q if independent else q
            words = f"records in both of two batches, {lag} draws apart"
            count = np.array([min(shared, trials)])
            yield most_telling(f"lag {lag}", words, count, trials, chance, independent=independent)
    for name, left, right in _pairings(n):
        both = np.array([int(matrix[:, left].multiply(matrix[:, right]).sum())])
        words = f"times {name} were in one batch"
        yield most_telling(f"pairs: {name}", words, both, len(left) * number, together, independent=independent)
    window = length if length > 1 else min(max(2, round(1 / q)), number) if q else number
    windows = number // window
    if windows:
        parts = [tuple(batches[k * window : (k + 1) * window]) for k in range(windows)]
        covered = sum(int(np.count_nonzero(counted(part, n))) for part in parts)
        words = f"records that were in any of {window} successive batches"
        chance = -math.expm1(window * math.log1p(-q)) if q < 1 else 1.0
        yield most_telling("covered", words, np.array([covered]), n * windows, chance, independent=independent)
    half = number // 2
    anchors, chosen = _companions(matrix[:half], n)
    if len(anchors):
        later = matrix[half:]
        both = np.asarray(later[:, anchors].multiply(later[:, chosen]).sum(axis=0)).ravel().astype(np.int64)
        words = (
            f"batches of the second half with both records of a pair that was often together, {{}} of {len(anchors)}"
        )
        yield most_telling("companions", words, both, number - half, together)


def _companions(matrix: Any, n: int) -> tuple[Integers, Integers]:
    """Some records, and for each of them the one that is most often in its batches."""
    anchors = np.unique(np.linspace(0, n - 1, min(ANCHORS, n)).astype(np.int64))
    if n < 2:
        return anchors[:0], anchors[:0]
    together = np.asarray((matrix[:, anchors].T @ matrix).todense())
    together[np.arange(len(anchors)), anchors] = -1
    return anchors, np.argmax(together, axis=1).astype(np.int64)


def _companions_in_passes(cells: Integers, chance: float) -> Iterator[CountTest]:
    """The same of passes in which every record is once."""
    half, n = len(cells) // 2, cells.shape[1]
    if half < 2 or n < 2:
        return
    anchors = np.unique(np.linspace(0, n - 1, min(ANCHORS, n)).astype(np.int64))
    early, late = cells[:half], cells[half:]
    together = np.zeros((len(anchors), n), dtype=np.int64)
    for row in early:
        together += row[anchors][:, None] == row[None, :]
    together[np.arange(len(anchors)), anchors] = -1
    chosen = np.argmax(together, axis=1)
    both = (late[:, anchors] == late[:, chosen]).sum(axis=0)
    words = f"passes of the second half in which a pair that was often together is so again, {{}} of {len(anchors)}"
    yield most_telling("companions", words, both, len(late), chance)


def _favourites(batches: Sequence[Integers], n: int, *, counted_of: int, rate: float, independent: bool) -> CountTest:
    """The half of the records that were drawn most often in the first half of the batches, in the second half."""
    half = len(batches) // 2
    order = np.argsort(-counted(tuple(batches[:half]), n), kind="stable")
    chosen = order[: max(1, n // 2)]
    found = np.array([counted(tuple(batches[half:]), n)[chosen].sum()])
    later = len(batches) - half
    words = "records in batches of the second half, of the half of the records that the first half had most often"
    trials = (len(chosen) if independent else counted_of) * later
    chance = rate if independent else len(chosen) / n
    return most_telling("favourites", words, np.minimum(found, trials), trials, chance, independent=independent)


def _matrix(batches: Sequence[Integers], n: int) -> Any:
    """Which record is in which batch: a sparse matrix of shape (batches, n)."""
    sizes = _sizes(batches)
    columns = np.concatenate(batches) if len(batches) else np.empty(0, dtype=np.int64)
    rows = np.repeat(np.arange(len(batches)), sizes)
    return scipy.sparse.csr_matrix((np.ones(len(columns), dtype=np.int64), (rows, columns)), shape=(len(batches), n))


def _cells(drawn: DrawnBatches) -> Integers:
    """The batch of each record in each whole pass, -1 for none: shape (passes, n); (0, n) if lengths differ."""
    if not drawn.length:
        return np.empty((0, drawn.records), dtype=np.int64)
    found = np.full((len(drawn.whole), drawn.records), -1, dtype=np.int64)
    for row, one in zip(found, drawn.whole, strict=True):
        for place, batch in enumerate(one.batches):
            row[batch] = place
    return found


def _places(
    cells: Integers,
    length: int,
    shares: Array,
    trials: Callable[[Integers, float], int],
    *,
    independent: bool,
) -> Iterator[CountTest]:
    """Blocks of records in parts of the passes: neither is where the other is not."""
    n, passes = cells.shape[1], len(cells)
    blocks, parts = _blocks(n), _blocks(length)
    found, number, chance = [], [], []
    for block in blocks:
        inside = cells[:, block]
        table = np.bincount(inside[inside >= 0], minlength=length)
        for part in parts:
            share = float(shares[part].sum())
            of = trials(block, share)
            found.append(min(int(table[part].sum()), of))
            number.append(of)
            chance.append(share if independent else len(block) / n)
    words = f"records of a block of successive records in a part of the {passes} passes (cell {{}} of {len(found)})"
    yield most_telling("order", words, np.array(found), np.array(number), np.array(chance), independent=independent)


def _upper_tail(k: int, n: int, p: float) -> float:
    return float(scipy.stats.binom.sf(k - 1, n, p))


def _drawn_tail(k: int, n: int, first: int, second: int) -> float:
    return float(scipy.stats.hypergeom.sf(k - 1, n, first, second))


def _most_in_common(batches: Sequence[Integers], n: int, tail: Tail, group: Integers) -> CountTest:
    """The two batches of different groups that share the most records, for their sizes.

    As many pairs count as looked at as the batches have, of whichever groups they are.
    """
    matrix, sizes = _matrix(batches, n), _sizes(batches)
    shared = scipy.sparse.triu(matrix @ matrix.T, k=1).tocoo()
    apart = group[shared.row] != group[shared.col]
    rows, columns, common = shared.row[apart], shared.col[apart], shared.data[apart]
    worst, found = 1.0, (0, 0, 0)
    # of pairs with the same sizes only those that share the most count
    kinds = sizes[rows] * (n + 1) + sizes[columns]
    order = np.lexsort((-common, kinds))
    _, first = np.unique(kinds[order], return_index=True)
    for place in order[first]:
        one = tail(int(common[place]), int(sizes[rows[place]]), int(sizes[columns[place]]))
        if one < worst:
            worst, found = one, (int(common[place]), int(rows[place]), int(columns[place]))
    return CountTest(
        name="two batches",
        words=f"records that batches {found[1]} and {found[2]} share",
        observed=found[0],
        trials=n,
        probability=math.nan,
        independent=True,
        tail=min(1.0, max(worst * (1 + 1e-9), SMALLEST_TAIL)),
        among=max(1, len(batches) * (len(batches) - 1) // 2),
    )


def _in_common_of_passes(drawn: DrawnBatches, tail: Tail) -> CountTest:
    """Two batches of two passes."""
    batches = tuple(batch for one in drawn.whole for batch in one.batches)[:MOST_COMPARED]
    return _most_in_common(batches, drawn.records, tail, np.arange(len(batches)) // drawn.length)
