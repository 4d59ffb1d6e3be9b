"""Histograms of two columns: the bin of each record in either, and groups by both."""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import numpy as np

from dpverdict.audit.tracing.handles.arrays import applied, dtype_of, fact_of, is_rows, no, public, raw
from dpverdict.audit.tracing.handles.functions import covers
from dpverdict.audit.tracing.handles.released import Followed


@covers(np.histogram2d)
def _histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:  # fmt: skip
    array = next(one for one in (x, y, weights, bins) if isinstance(one, Followed))
    if density:
        no(array, "np.histogram2d with density, which divides by the number of records", "divide the noisy counts")
    if not (is_rows(x) and is_rows(y)) or fact_of(x).shape != () or fact_of(y).shape != ():
        no(array, "np.histogram2d of something else than two columns")
    if weights is not None and not is_rows(weights):
        no(array, "np.histogram2d with weights that are no column")
    edges = _edges(array, public(array, bins), public(array, range))
    keys = [_bin(one, own) for one, own in zip((x, y), edges, strict=True)]
    labels = [[i, j] for i in np.arange(1, len(edges[0])).tolist() for j in np.arange(1, len(edges[1])).tolist()]
    value, *_ = np.histogram2d(raw(x), raw(y), edges, weights=None if weights is None else raw(weights))
    given = [*keys, *([] if weights is None else [weights])]
    flat = applied("groups of several columns", given, value.ravel(), keys=2, values=labels, dtype=dtype_of(value))
    return flat.reshape(value.shape), *edges


def _bin(column: Any, edges: Any) -> Any:
    """The number of the bin, from 1 on: each holds its lower edge, and the last one its upper edge too."""
    return np.where(column == edges[-1], len(edges) - 1, np.digitize(column, edges))


def _edges(array: Any, bins: Any, range: Any) -> list[Any]:
    """Public edges along both axes."""
    if isinstance(bins, str) or not hasattr(bins, "__len__") or len(bins) != 2:  # edges may differ in number
        bins = [bins, bins]
    found: list[Any] = []
    for i, one in enumerate(bins):
        if np.ndim(one) == 0:
            if range is None or isinstance(one, str):
                no(array, "np.histogram2d with edges that depend on data", "give the edges, or a range for each axis")
            low, high = range[i]
            found.append(np.linspace(low, high, int(one) + 1))
        else:
            found.append(np.asarray(one, dtype=np.float64))
        if len(found[i]) < 2 or np.any(~(np.diff(found[i]) > 0)):
            no(array, "np.histogram2d with edges that do not increase")
    return found
