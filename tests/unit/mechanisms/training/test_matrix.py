"""The matrix mechanism: its sensitivity against all patterns and signs, its errors, its score, files, and refusals."""

import itertools
import resource
import time
from fractions import Fraction

import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import REPLACE_ONE, MatrixMechanism
from dpverdict.mechanisms.streams import participation as participation_module
from dpverdict.mechanisms.streams.participation import Participation, sensitivity_of
from dpverdict.mechanisms.streams.strategies import (
    Banded,
    Toeplitz,
    banded_inverse_square_root,
    buffered,
    identity,
    optimised_band,
    square_root,
)
from dpverdict.mechanisms.training.matrix import compare_strategies

STEPS = 6
WAYS = [
    ("single", None, None),
    ("fixed-epochs", 2, None),
    ("fixed-epochs", 3, None),
    ("cyclic", 4, None),
    ("cyclic", 1, None),
    ("min-separation", 1, None),
    ("min-separation", 1, 2),
    ("min-separation", 2, None),
    ("min-separation", 2, 2),
    ("min-separation", 4, None),
]


def toeplitz(*coefficients):
    return Toeplitz(STEPS, [Fraction(one) for one in coefficients], source="here")


def matrix(seed, low):
    """Entries in [low, 1], a multiple of 1/8 each, and 1 on the diagonal."""
    entries = np.tril(np.random.default_rng(seed).integers(8 * low, 9, (STEPS, STEPS)) / 8.0, -1)
    return Banded.of_rows(entries + np.eye(STEPS), source="here")


STRATEGIES = {
    "identity": identity(STEPS),
    "root": square_root(STEPS),
    "banded root": square_root(STEPS, 2),
    "inverse root": banded_inverse_square_root(STEPS, 3),
    "optimised": optimised_band(STEPS, 3),
    "blt": buffered(STEPS, ["0.9", "0.5"], ["0.2", "0.3"]),
    "rising": toeplitz("1", "1", "2", "3"),
    "alternating": toeplitz("1", "-1/2", "1/4", "-1/8"),
    "two signs": toeplitz("1", "1/2", "-3/4", "1/4", "1/2"),
    "negative": toeplitz("1", "-1/2"),
    "matrix": matrix(1, 0),
    "matrix with signs": matrix(2, -1),
    "other signs": matrix(3, -1),
}


def patterns_of(name, separation, most):
    """All sets of steps, from their definition in words: an independent enumeration of subsets."""
    found = []
    for size in range(1, STEPS + 1):
        for steps in itertools.combinations(range(STEPS), size):
            gaps = [b - a for a, b in itertools.combinations(steps, 2)]
            allowed = {
                "single": size == 1,
                "fixed-epochs": len({step % (separation or 1) for step in steps}) == 1,
                "cyclic": len({step % (separation or 1) for step in steps}) == 1,
                "min-separation": all(gap >= (separation or 1) for gap in gaps) and size <= (most or STEPS),
            }[name]
            found += [steps] if allowed else []
    return found


def brute(strategy, way):
    """The largest |C u|^2 over patterns and signs, and over patterns the sum of |X[s, t]|, in float64."""
    columns = strategy.embed(np.eye(STEPS))  # row t is C e_t
    gram = columns @ columns.T
    with_signs, absolute = 0.0, 0.0
    for steps in patterns_of(*way):
        part = gram[np.ix_(steps, steps)]
        absolute = max(absolute, float(np.abs(part).sum()))
        for signs in itertools.product((1, -1), repeat=len(steps)):
            with_signs = max(with_signs, float(np.array(signs) @ part @ np.array(signs)))
    return with_signs, absolute


def found_of(strategy, way):
    name, separation, most = way
    return sensitivity_of(strategy, Participation.of(name, STEPS, separation=separation, participations=most))


def encloses(found, strategy, way):
    with_signs, absolute = brute(strategy, way)
    lower, upper = found.lower.nearest(), found.upper.nearest()
    assert lower <= with_signs * (1 + 1e-12)
    assert upper >= with_signs * (1 - 1e-12)
    if found.exact:
        assert upper == pytest.approx(with_signs, rel=1e-12) == lower
        assert absolute == pytest.approx(upper, rel=1e-12)  # so no gradients of more coordinates add up to more
    else:
        assert upper >= absolute * (1 - 1e-12)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_sensitivity_encloses_that_of_all_patterns_and_signs(name, way):
    found = found_of(STRATEGIES[name], way)
    encloses(found, STRATEGIES[name], way)
    assert found.steps in patterns_of(*way)
    if name not in ("rising", "alternating", "two signs", "negative", "matrix", "matrix with signs", "other signs"):
        assert found.exact
    if way[0] == "single":
        assert found.exact


@pytest.mark.parametrize("seed_of_matrix", range(20))
def test_random_matrices_with_signs(seed_of_matrix):
    for way in WAYS:
        strategy = matrix(seed_of_matrix + 10, -1)
        encloses(found_of(strategy, way), strategy, way)


def test_gradients_of_several_coordinates_stay_below_the_bound(seed):
    """Unit vectors in R^3 for every step: what adds up to more than any signs do is below the bound from above."""
    rng, strategy = np.random.default_rng(seed), STRATEGIES["other signs"]
    bound = found_of(strategy, ("min-separation", 1, None)).upper.nearest()
    gradients = rng.standard_normal((2000, 3, STEPS))
    gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
    moved = strategy.embed(gradients.reshape(-1, STEPS)).reshape(gradients.shape)
    assert np.square(moved).sum(axis=(1, 2)).max() <= bound


def test_planted_faults_are_found(monkeypatch):
    """One participation counted where there are three; norms of columns where they overlap; signs that are ignored."""
    way = ("min-separation", 2, None)
    one = found_of(STRATEGIES["root"], ("single", None, None))
    with pytest.raises(AssertionError):
        encloses(one, STRATEGIES["root"], way)
    norms = found_of(STRATEGIES["root"], way)
    columns = [float(np.square(row).sum()) for row in STRATEGIES["root"].embed(np.eye(STEPS))]
    assert sum(columns[::2]) < norms.lower.nearest()  # what columns that overlap would cost, were they orthogonal
    strategy = STRATEGIES["other signs"]
    monkeypatch.setattr(
        participation_module, "_absolute_sum", lambda c, steps: sum(c.inner(s, t) for s in steps for t in steps)
    )
    with pytest.raises(AssertionError):
        encloses(found_of(strategy, ("cyclic", 1, None)), strategy, ("cyclic", 1, None))


def test_the_earliest_pattern_is_not_taken_where_coefficients_rise():
    """With c = 1, 1, 2, 3 and b = 2 a later or wider pattern may overlap more: a bound is stated, not that pattern."""
    found = found_of(STRATEGIES["rising"], ("min-separation", 1, 2))
    earliest = STRATEGIES["rising"].squared(1, 2).nearest()
    assert not found.exact
    assert found.upper.nearest() > brute(STRATEGIES["rising"], ("min-separation", 1, 2))[0] >= earliest


def run(**changed):
    given = {
        "noise_multiplier": 2,
        "steps": 12,
        "kind": "bisr",
        "band": 3,
        "participation": "min-separation",
        "separation": 4,
    }
    return MatrixMechanism(**{key: value for key, value in (given | changed).items() if value is not None})


def test_a_claim_a_little_below_is_refuted_where_the_sensitivity_is_attained():
    mu = float(run().claim.mu)
    assert certify(run()).status is Status.CERTIFIED
    assert certify(run(), f"mu={mu * (1 - 1e-9):.17g}").status is Status.REFUTED
    assert certify(run(), run(participation="single", separation=None).claim).status is Status.REFUTED
    for claim in (f"rho={mu**2 / 2 * (1 + 1e-9):.17g}", f"order=2, eps={mu**2 * (1 + 1e-9):.17g}"):
        assert certify(run(), claim).status is Status.CERTIFIED


def test_a_gap_between_the_bounds_is_inconclusive_and_both_sides_decide():
    signs = {"kind": "toeplitz", "band": None, "coefficients": ["1", "1/2", "-3/4", "1/4", "1/2"], "separation": 1}
    found = run(**signs).sensitivity.found
    low, high = (np.sqrt(side.nearest()) / 2 for side in (found.lower, found.upper))
    assert low < high
    assert certify(run(**signs)).status is Status.CERTIFIED
    assert certify(run(**signs), f"mu={(low + high) / 2:.12g}").status is Status.INCONCLUSIVE
    assert certify(run(**signs), f"mu={low * 0.999:.12g}").status is Status.REFUTED


def test_a_replaced_record_tells_twice_as_much():
    assert worst_case(run(adjacency=REPLACE_ONE)).loss.mu == pytest.approx(2 * worst_case(run()).loss.mu)


@pytest.mark.parametrize("replaced", [False, True])
def test_the_score_is_standard_normal_moved_by_mu(replaced):
    """20 000 releases on either side, seed 3, six standard errors; gradients of three coordinates, clipped at 2."""
    changed = {"adjacency": REPLACE_ONE} if replaced else {}
    made = run(dim=3, clipping_norm=2, **changed)
    worst, rng = worst_case(made), np.random.default_rng(3)
    mu, score = worst.loss.mu, made.likelihood_score(worst.pair)
    for data, sign in ((worst.pair.dataset, 1), (worst.pair.neighbour, -1)):
        found = score(made.release_many(data, 20_000, rng))
        assert abs(found.mean() - sign * mu**2 / 2) < 6 * mu / np.sqrt(20_000)
        assert abs(found.std() / mu - 1) < 6 / np.sqrt(40_000)


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_errors_are_those_of_the_dense_matrices(name):
    strategy = STRATEGIES[name]
    dense = strategy.embed(np.eye(STEPS)).T
    rows = np.tril(np.ones((STEPS, STEPS))) @ np.linalg.inv(dense)
    np.testing.assert_allclose(strategy.row_squares(), np.square(rows).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(strategy.solve(np.eye(STEPS)), np.linalg.inv(dense).T, atol=1e-12)


def test_strategies_side_by_side():
    steps = 256
    one = Participation.of("single", steps)
    made = {"independent": identity(steps), "band": square_root(steps, 16), "BandMF": optimised_band(steps, 16)}
    independent, band, optimised = compare_strategies(made, one)
    assert independent.mean == pytest.approx((steps + 1) / 2)
    assert optimised.mean < band.mean < independent.mean
    assert all(found.exact and found.largest >= found.mean for found in (independent, band, optimised))


def test_a_matrix_from_a_file(tmp_path):
    dense = np.tril(np.ones((12, 12))) * 0.5 + 0.5 * np.eye(12)
    np.save(tmp_path / "c.npy", dense)
    np.savetxt(tmp_path / "c.csv", dense, delimiter=",")
    rows = np.zeros((12, 2))
    rows[:, 0], rows[1:, 1] = 1.0, 0.5
    np.save(tmp_path / "band.npy", rows)
    kept = {"band": None, "separation": 4}
    read = [run(kind="matrix", file=str(tmp_path / name), **kept) for name in ("c.npy", "c.csv")]
    assert read[0].claim == read[1].claim
    half = run(kind="toeplitz", coefficients=["1", "1/2"], **kept)
    found = run(kind="banded", file=str(tmp_path / "band.npy"), **kept)
    assert found.sensitivity.found.exact
    assert found.claim == half.claim  # no column of a pattern is the last, which is shorter
    for name, changed in (("steps", {"steps": 16}), ("file", {"file": str(tmp_path / "none.npy")})):
        with pytest.raises(InvalidValue, match=name):
            run(**({"kind": "matrix", "file": str(tmp_path / "c.npy")} | kept | changed))
    np.save(tmp_path / "upper.npy", dense.T)
    with pytest.raises(InvalidValue, match="lower triangular"):
        run(kind="matrix", file=str(tmp_path / "upper.npy"), **kept)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("kind", {"kind": "dense"}),
        ("band", {"band": None}),
        ("coefficients", {"coefficients": ["1"]}),
        ("coefficients", {"kind": "toeplitz", "band": None, "coefficients": ["0", "1"]}),
        ("decays", {"kind": "blt", "band": None, "decays": ["1.5"], "weights": ["0.5"]}),
        ("participation", {"participation": "often"}),
        ("participation", {"participation": "single"}),
        ("separation", {"separation": None}),
        ("separation", {"participation": "fixed-epochs", "separation": 5}),
        ("participations", {"participation": "cyclic", "participations": 2}),
        ("steps", {"steps": 1 << 15}),
        ("noise_multiplier", {"noise_multiplier": 0}),
    ],
)
def test_what_is_out_of_range_is_refused(name, changed):
    with pytest.raises(InvalidValue, match=name):
        run(**changed)


def test_a_record_that_takes_part_too_often_is_refused():
    record = np.zeros((1, 12, 1))
    record[0, [0, 2]] = 1.0
    with pytest.raises(InvalidValue, match="record 0"):
        run().release(record, np.random.default_rng(0))
    record[0, 2], record[0, 4] = 0.0, 1.0
    assert run().release(record, np.random.default_rng(0)).shape == (12,)


@pytest.mark.parametrize(
    "changed",
    [{"kind": "sqrt-toeplitz", "band": None}, {"band": 32}, {"kind": "bandmf", "band": 32}],
    ids=["root", "bisr", "bandmf"],
)
def test_ten_thousand_steps_take_seconds_and_no_dense_matrix(changed):
    """A matrix of 1e4 rows would take .8 GB: the process stays far below it."""
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    made = run(steps=10_000, separation=1000, **changed)
    assert certify(made).status is Status.CERTIFIED
    assert made.squared_errors()[0] > 0
    assert time.process_time() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000


def test_it_is_audited_from_the_command_line(capsys):
    options = (
        "--noise-multiplier 2 --steps 12 --kind toeplitz --coefficients 1,1/2,3/8 --participation cyclic --separation 4"
    )
    words = ["audit", "matrix-mechanism", *options.split()]
    assert main([*words, "--no-test"]) == 0
    assert main([*words, "--samples", "4000", "--seed", "1", "--claim", "mu=0.5"]) == 1
    assert "1, 5, 9" in capsys.readouterr().out
