"""DP-FTRL: the exact mu of the worst participation against brute force, the score, claims, and what is refused."""

import itertools

import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import REPLACE_ONE
from dpverdict.mechanisms.training.dp_ftrl import DPFTRL, MOST_STEPS

KINDS = ("binary", "honaker", "smooth-binary", "sqrt-toeplitz")


def training(**changed):
    given = {"noise_multiplier": 2, "steps": 12, "epochs": 3, "kind": "sqrt-toeplitz", "participation": "fixed"}
    return DPFTRL(**(given | changed))


def brute(run):
    """The largest |R sum e_t|^2 over all patterns, from the columns of R in float64."""
    columns = run.factorization.embed(np.eye(run.steps))
    each = run.steps // run.epochs
    epochs = [range(k * each, (k + 1) * each) for k in range(run.epochs)]
    patterns = itertools.product(*epochs)
    if run.participation == "fixed":
        patterns = (tuple(first + k * each for k in range(run.epochs)) for first in range(each))
    return max(float(np.square(columns[list(pattern)].sum(axis=0)).sum()) for pattern in patterns)


@pytest.mark.parametrize("participation", ["fixed", "fresh"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_worst_participation_is_that_of_brute_force(kind, participation):
    for steps, epochs in ((12, 3), (6, 1), (14, 2)):
        run = training(kind=kind, participation=participation, steps=steps, epochs=epochs)
        mu = np.sqrt(brute(run)) / 2
        assert float(worst_case(run).loss.mu) == pytest.approx(mu, rel=1e-12)
        assert float(run.claim.mu) >= mu * (1 - 1e-12)
        assert certify(run).status is Status.CERTIFIED


def test_a_claim_a_little_below_the_worst_participation_is_refuted_where_it_is_attained():
    mu = float(training().claim.mu)
    assert certify(training(), f"mu={mu * (1 - 1e-9):.17g}").status is Status.REFUTED
    one = training(epochs=1, steps=4)  # what one participation costs: wrong for three
    assert certify(training(), one.claim).status is Status.REFUTED
    assert certify(training(kind="honaker"), one.claim).status is Status.INCONCLUSIVE  # not all nodes are told


def test_a_replaced_record_tells_twice_as_much():
    assert worst_case(training(adjacency=REPLACE_ONE)).loss.mu == pytest.approx(2 * worst_case(training()).loss.mu)


@pytest.mark.parametrize("replaced", [False, True])
def test_the_score_is_standard_normal_moved_by_mu(replaced):
    """20 000 releases on either side, seed 3, six standard errors; a gradient of three coordinates, clipped at 2."""
    changed = {"adjacency": REPLACE_ONE} if replaced else {}
    run = training(dim=3, clipping_norm=2, **changed)
    worst, rng = worst_case(run), np.random.default_rng(3)
    mu, score = worst.loss.mu, run.likelihood_score(worst.pair)
    for data, sign in ((worst.pair.dataset, 1), (worst.pair.neighbour, -1)):
        found = score(run.release_many(data, 20_000, rng))
        assert abs(found.mean() - sign * mu**2 / 2) < 6 * mu / np.sqrt(20_000)
        assert abs(found.std() / mu - 1) < 6 / np.sqrt(40_000)


def test_records_take_part_once_in_every_epoch():
    run = training(kind="sqrt-toeplitz", noise_multiplier="1e-9")
    released = run.release(np.array([[0.5], [0.25]]), np.random.default_rng(1))
    np.testing.assert_allclose(np.diff(released, prepend=0), np.tile([0.5, 0.25, 0, 0], 3), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("steps", {"steps": 13}),
        ("steps", {"steps": 3 * MOST_STEPS}),
        ("epochs", {"epochs": 0}),
        ("kind", {"kind": "dense"}),
        ("participation", {"participation": "often"}),
        ("patterns", {"participation": "fresh", "steps": 3000}),
        ("noise_multiplier", {"noise_multiplier": 0}),
    ],
)
def test_what_is_out_of_range_is_refused(name, changed):
    with pytest.raises(InvalidValue, match=name):
        training(**changed)


def test_it_is_audited_from_the_command_line(capsys):
    options = "--noise-multiplier 2 --steps 12 --epochs 3 --kind sqrt-toeplitz --participation fixed"
    words = ["audit", "dp-ftrl", *options.split()]
    assert main([*words, "--no-test", "--claim", "mu=2"]) == 0
    assert main([*words, "--samples", "4000", "--seed", "1", "--claim", "mu=0.5"]) == 1
    assert "1, 5, 9" in capsys.readouterr().out
