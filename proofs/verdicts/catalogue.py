"""The worst pair of each mechanism, from its name and its parameters in exact numbers alone.

Nothing here asks a mechanism object: what is derived is what a reader derives who has the certificate and the papers.
A mechanism of which the worst pair is not derived has `Unknown` in its place, and its certificate proves less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dpverdict.proofs.verdicts import gaussian_queries, other_noise, streams
from dpverdict.proofs.verdicts.gaussian_queries import cube_pair
from dpverdict.proofs.verdicts.given import ADD_REMOVE, REPLACE, Parameters
from dpverdict.proofs.verdicts.laws import NotDerived, WorstPair, not_derived


def worst_pair(mechanism: Any, parameters: Any, relation: Any) -> WorstPair:
    """The worst pair of a mechanism of the catalogue.

    Raises:
        NotDerived: a mechanism, a parameter or a relation that is not known.
    """
    if relation not in (ADD_REMOVE, REPLACE):
        raise NotDerived(f"relation: {relation!r} is not {ADD_REMOVE} or {REPLACE}")
    build = MECHANISMS.get(mechanism) if isinstance(mechanism, str) else None
    if isinstance(mechanism, str) and mechanism.startswith("broken:"):
        build = _stated
    if build is None:
        raise NotDerived(f"mechanism: {mechanism!r} is not known")
    given = Parameters(parameters, relation)
    found = build(given)
    given.end()
    return found


def _stated(given: Parameters) -> WorstPair:
    """A known-wrong mechanism: its noise and its records are what the parameters say, and its name says nothing."""
    kind = given.word("stated", "cube", "nothing")
    if kind == "nothing":
        return not_derived(
            noise={"law": "not stated", "coordinates": str(given.whole("dim"))}, differences={"set": "not stated"}
        )
    given.under(ADD_REMOVE)
    dim, loading = given.whole("dim"), given.word("count_loading", "none", "0", "1", "2", "3", "4")
    scales = (
        given.fraction("independent_scale"),
        given.fraction("shared_scale", positive=False),
        given.fraction("count_scale", positive=False),
    )
    low, high, copies = given.signed("low"), given.signed("high"), given.whole("copies")
    nonzero = given.whole("nonzero", 0) or None
    if low >= high:
        given.refuse("high", "it is not above low")
    return cube_pair(
        given,
        scales,
        dim,
        None if loading == "none" else int(loading),
        low=low,
        high=high,
        nonzero=nonzero,
        copies=copies,
        assumptions=("every entry of a record lies between low and high",),
    )


MECHANISMS: Final[Mapping[str, Callable[[Parameters], WorstPair]]] = {
    "above-threshold": other_noise.above_threshold,
    "bounded-contributions": other_noise.bounded_contributions,
    "correlated-gaussian": gaussian_queries.correlated,
    "count-ellipse": gaussian_queries.count_ellipse,
    "best-of-runs": other_noise.best_of_runs,
    "count-mean-sketch": lambda given: other_noise.local(given, "width"),
    "discrete-correlated-gaussian": other_noise.discrete_correlated,
    "dp-ftrl": streams.dp_ftrl,
    "dp-sgd": streams.dp_sgd,
    "elliptical-gaussian": gaussian_queries.elliptical,
    "exponential": lambda given: other_noise.selection(given, "gumbel"),
    "factorization-counter": streams.factorization_counter,
    "gaussian": gaussian_queries.gaussian,
    "geometric": other_noise.geometric,
    "grouped-gaussian": gaussian_queries.grouped,
    "hadamard-response": other_noise.local,
    "laplace": other_noise.laplace,
    "local-hashing": lambda given: other_noise.local(given, "hashes"),
    "matrix-mechanism": streams.matrix_mechanism,
    "number-report": other_noise.number_report,
    "optimal-grouped-gaussian": gaussian_queries.optimal_grouped,
    "partition-selection": other_noise.partition_selection,
    "permute-and-flip": lambda given: other_noise.selection(given, "exponential"),
    "quantile": other_noise.quantile,
    "randomized-response": other_noise.randomized_response,
    "rappor": other_noise.rappor,
    "rank1-gaussian": other_noise.rank1,
    "report-noisy-max": other_noise.noisy_max,
    "sampled-matrix": streams.sampled_matrix,
    "secure-sum": other_noise.secure_sum,
    "shuffled-reports": other_noise.shuffled_reports,
    "standard-gaussian": gaussian_queries.standard,
    "subset-selection": lambda given: other_noise.local(given, "subset"),
    "thresholded-counts": other_noise.thresholded_counts,
    "tree-counter": streams.tree_counter,
    "unary-encoding": other_noise.unary_encoding,
    "vote-ellipse": gaussian_queries.vote_ellipse,
}
"""How the worst pair follows from the parameters, by the name of the mechanism."""
