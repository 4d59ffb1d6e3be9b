"""The zoo: known-wrong variants of the mechanisms, each with the privacy it really has.

An auditor that cannot tell these from the correct mechanisms is worth nothing, so every test of the project's power
runs over `ALL`. Each function below makes one entry; those with parameters make a family of them. Notation of the
formulas: d queries, r = sqrt d, j* = (d + r)/2; the correct variances are vz = (d + r)/(4 mu^2) and
ve = (r + 1)/(4 mu^2). Several entries are private in some dimensions (M16 at perfect squares, M1c at d = 1), so a test
set should include dimensions such as 2, 3 and 5. True values: Lebeda 2024, checked over all vertices for d <= 8.
"""

from __future__ import annotations

from fractions import Fraction

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import broken_correlated as correlated
from dpverdict.mechanisms import broken_others as others
from dpverdict.mechanisms.mutant import Mutant

ALL: tuple[Mutant, ...] = (
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
)
"""Every known-wrong variant, in the order of the sources."""


def by_name(name: str) -> Mutant:
    """The variant called ``name``, for example "M3".

    Raises:
        InvalidValue: there is none of that name.
    """
    for mutant in ALL:
        if mutant.name.lower() == name.lower():
            return mutant
    known = ", ".join(mutant.name for mutant in ALL)
    raise InvalidValue("variant", name, f"one of {known}", "list them with: dpverdict list")
