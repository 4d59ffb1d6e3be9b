"""The zoo: known-wrong variants of the mechanisms, each with the privacy it really has.

An auditor that cannot tell these from the correct mechanisms is worth nothing, so every test of the project's power
runs over `ALL`. Each function below makes one entry; those with parameters make a family of them. Notation of the
formulas: d queries, r = sqrt d, j* = (d + r)/2; the correct variances are vz = (d + r)/(4 mu^2) and
ve = (r + 1)/(4 mu^2). Several entries are private in some dimensions (M16 at perfect squares, M1c at d = 1), so a test
set should include dimensions such as 2, 3 and 5. True values: Lebeda 2024, checked over all vertices for d <= 8. The
counters and Laplace mechanisms have a notation of their own (`broken_counting`, `broken_laplace`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.broken import correlated, laplace
from dpverdict.mechanisms.broken import counters as counting
from dpverdict.mechanisms.broken import queries as ellipses
from dpverdict.mechanisms.broken import queries as others
from dpverdict.mechanisms.broken.mutant import Mutant

Wrong: TypeAlias = Mutant | counting.CountingMutant | laplace.LaplaceMutant
"""A known-wrong variant: it has a name, a title, a source, a formula, the names of its parameters, and ``make``."""

GAUSSIAN: tuple[Mutant, ...] = (
    correlated.fresh_count_noise(),
    correlated.fresh_noise_everywhere(),
    correlated.fresh_noise_without_count(),
    others.first_eta_in_count(),
    correlated.scaled_shared_variance(),
    correlated.misprinted_shared_variance(),
    correlated.scaled_independent_variance(),
    correlated.used_under_replacement(),
    correlated.exact_count(),
    correlated.halved_count_noise(),
    correlated.opposite_count_noise(),
    correlated.unclipped(),
    correlated.unclipped(Fraction(0), Fraction(3, 2), name="M7ab"),
    correlated.variance_as_deviation(),
    correlated.mu_not_squared(),
    others.one_eta_for_all_groups(),
    others.replacement_shared_variance(),
    others.grouped_under_replacement(),
    correlated.true_size_as_estimate(),
    correlated.mixed_embedding(),
    others.ellipse_for_sparser_data(),
    others.ellipse_beyond_its_range(),
    correlated.integer_root(),
    correlated.several_records_per_user(),
    others.unit_sensitivity(),
    others.halved_bounds(),
    ellipses.ranks_from_one(),
    ellipses.ellipse_variance_without_its_shape(),
    ellipses.count_that_is_not_free(),
    ellipses.mean_not_put_back(),
)
"""The known-wrong variants with Gaussian noise and a claim of mu-GDP, in the order of the sources."""

ALL: tuple[Wrong, ...] = (*GAUSSIAN, ellipses.mixed_lattice(), *counting.ALL, *laplace.ALL)
"""Every known-wrong variant: those of `GAUSSIAN`, one on the lattice (rho-zCDP), counters and Laplace (epsilon-DP)."""


def by_name(name: str) -> Mutant:
    """The variant called ``name``, for example "M3", of those with a dimension and a mu: `GAUSSIAN` and "D1".

    Raises:
        InvalidValue: there is none of that name.
    """
    found = any_by_name(name)
    if not isinstance(found, Mutant):
        remedy = "call any_by_name for the others"
        raise InvalidValue("variant", name, "one with a dimension and a mu", remedy)
    return found


def any_by_name(name: str) -> Wrong:
    """The variant called ``name`` of all of them, for example "T1".

    Raises:
        InvalidValue: there is none of that name.
    """
    for wrong in ALL:
        if wrong.name.lower() == name.lower():
            return wrong
    known = ", ".join(wrong.name for wrong in ALL)
    raise InvalidValue("variant", name, f"one of {known}", "list them with: dpverdict list")
