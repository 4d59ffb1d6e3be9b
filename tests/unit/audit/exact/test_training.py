"""Claims about training runs: Poisson sampling decided, shuffling refuted by its event, and what is in between."""

import time

import numpy as np
import pytest
from dp_accounting import NeighboringRelation

from dpverdict.audit.exact.training import certify_training
from dpverdict.audit.exact.verdict import Status
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.training.dp_sgd import DPSGD


def run(**changed):
    return DPSGD(**({"noise_multiplier": 1, "rate": "0.01", "steps": 1000, "sampling": "poisson"} | changed))


@pytest.mark.parametrize(("epsilon", "status"), [("1.8283", Status.CERTIFIED), ("1.8282", Status.REFUTED)])
def test_poisson_sampling_is_decided_to_four_decimals(epsilon, status):
    verdict = certify_training(run(), f"eps={epsilon}, delta=1e-5")
    assert verdict.status is status


def test_a_claim_computed_for_poisson_sampling_is_refuted_when_batches_are_shuffled():
    """The same numbers: certified with Poisson sampling, refuted with its event, in under a second, when shuffled."""
    claim = "eps=6.2, delta=1e-5"
    assert certify_training(run(steps=10_000), claim).status is Status.CERTIFIED
    for sampling in ("shuffle", "shuffle-once"):
        start = time.process_time()
        verdict = certify_training(run(steps=10_000, sampling=sampling), claim)
        assert time.process_time() - start < 1
        assert verdict.status is Status.REFUTED
        witness = verdict.witness
        growth = np.exp(6.2)
        assert witness.probability.lower - growth * witness.neighbour_probability.upper > 0.2
        assert "above" in witness.event


def test_between_the_bounds_of_shuffling_nothing_is_decided():
    assert certify_training(run(steps=100, sampling="shuffle"), "eps=4.2, delta=1e-5").status is Status.INCONCLUSIVE
    assert certify_training(run(steps=100, sampling="shuffle"), "eps=4.4, delta=1e-5").status is Status.CERTIFIED


def test_a_replaced_record_tells_more():
    replaced = NeighboringRelation.REPLACE_ONE
    verdict = certify_training(run(steps=100, sampling="shuffle", adjacency=replaced), "eps=4.4, delta=1e-5")
    assert verdict.status is Status.REFUTED
    assert verdict.witness.pair.neighbour.shape == verdict.witness.pair.dataset.shape


def test_what_is_only_bracketed_in_float64_is_not_certified():
    verdict = certify_training(run(noise_multiplier="0.5", rate="0.1", steps=2), "eps=0.05, delta=0.5")
    assert verdict.status is Status.INCONCLUSIVE
    assert "certifies nothing" in verdict.reason


def test_other_claims_are_refused():
    with pytest.raises(InvalidValue, match="claim"):
        certify_training(run(), "mu=1")


@pytest.mark.parametrize(("sampling", "code"), [("poisson", 0), ("shuffle", 1)])
def test_the_command_answers_in_one_line(sampling, code, capsys):
    words = ["dp-sgd", "--noise-multiplier", "1", "--rate", "0.01", "--steps", "10000", "--sampling", sampling]
    assert main([*words, "--claim", "eps=6.2, delta=1e-5"]) == code
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("CERTIFIED" if code == 0 else "REFUTED")


def test_a_wrong_word_of_the_command_is_one_line(capsys):
    words = ["dp-sgd", "--noise-multiplier", "1", "--rate", "0.01", "--steps", "10000", "--sampling", "often"]
    assert main([*words, "--claim", "eps=6.2, delta=1e-5"]) == 2
    assert "sampling" in capsys.readouterr().err
