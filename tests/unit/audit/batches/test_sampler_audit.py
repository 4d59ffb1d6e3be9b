"""The parts of the audit of samplers: tails against enumeration, what is read, what is refused, the command."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import scipy

from dpverdict.audit.batches.claim import read_claim
from dpverdict.audit.batches.counts import detectable, tails
from dpverdict.audit.batches.drawn import draw_batches
from dpverdict.audit.batches.epsilons import Training
from dpverdict.audit.batches.sampler_audit import SamplerAudit, audit_batches
from dpverdict.audit.documents.request import SamplerRequest
from dpverdict.audit.documents.sampler import SamplerDocument
from dpverdict.audit.documents.schema import json_schema
from dpverdict.audit.runs.samplers import sampler_fields, sampler_page
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue, MechanismFailure

SHUFFLED = """
import numpy as np


def make(seed):
    order = np.random.default_rng(seed).permutation(100)
    for first in range(0, 100, 10):
        yield order[first : first + 10]


def fails():
    raise SystemExit(0)
"""


def test_binomial_tails_by_enumeration_in_fractions() -> None:
    n, p = 12, Fraction(3, 10)
    law = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    for k in range(n + 1):
        exact = min(Fraction(1), 2 * min(sum(law[: k + 1]), sum(law[k:])))
        found = Fraction(float(tails(np.array([k]), np.array([n]), np.array([0.3]))[0]))
        assert exact <= found <= exact * (1 + Fraction(1, 10**9)), k


def test_the_bound_of_chernoff_covers_sums_of_hypergeometric_numbers() -> None:
    """Of 3 batches of 5 of 20 records, how many are of 8 of them: the law by convolution."""
    one = scipy.stats.hypergeom.pmf(np.arange(6), 20, 8, 5)
    law = np.convolve(np.convolve(one, one), one)
    bounds = tails(np.arange(16), np.full(16, 15), np.full(16, 0.4), independent=False)
    for k, bound in enumerate(bounds):
        assert min(1, 2 * min(law[: k + 1].sum(), law[k:].sum())) <= bound * (1 + 1e-12), k
    assert bounds[15] < 1e-4


def test_a_rate_that_is_called_detectable_is_detected_that_often() -> None:
    n, p, level = 500, 0.05, 1e-4
    rate = detectable(n, p, level)
    rejecting = tails(np.arange(n + 1), np.full(n + 1, n), np.full(n + 1, p)) <= level
    found = scipy.stats.binom.pmf(np.arange(n + 1), n, rate)[rejecting].sum()
    assert 0.95 <= found < 0.96
    assert scipy.stats.binom.pmf(np.arange(n + 1), n, p)[rejecting].sum() <= level


def test_impossible_counts_have_tail_zero() -> None:
    assert tails(np.array([1, 0]), np.array([5, 5]), np.array([0.0, 0.0])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("poison", "0.1", None), "sampling"),
        (("poisson", None, None), "rate"),
        (("poisson", "0.1", "5"), "size"),
        (("shuffle", "0.1", None), "size"),
        (("balls-in-bins", "0.3", None), "rate"),
        (("poisson", "1.5", None), "rate"),
    ],
)
def test_a_claim_that_says_nothing_is_refused(words: tuple[str, str | None, str | None], name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        read_claim(*words)


class Selection:
    """As those of jax_privacy."""

    def batch_iterator(self, records: int, rng: Any) -> Any:
        return iter([np.array([0, -1, records - 1])] * 5)


class DataLoader:
    """As those of torch."""

    dataset = range(4)
    batch_sampler = ((0, 1), (2, 3))

    def __iter__(self) -> Any:
        raise AssertionError("the data are not read")


def test_what_a_loader_may_be() -> None:
    selected = draw_batches(Selection, batches=20, records=8, seed=1)
    assert [batch.tolist() for batch in selected.batches[:2]] == [[0, 7], [0, 7]]
    loaded = draw_batches(DataLoader, batches=20, records=None, seed=1)
    assert (loaded.records, loaded.length, len(loaded.passes)) == (4, 2, 10)
    endless = draw_batches(lambda: iter(lambda: [0], None), batches=20, records=1, seed=1)
    assert not endless.whole
    assert len(endless.batches) == 400
    seeds = []
    draw_batches(lambda seed: seeds.append(seed) or iter([[0]] * 10), batches=20, records=1, seed=1)
    assert len(set(seeds)) == 2


@pytest.mark.parametrize("batch", [[0.5], [[1, 2]], ["a"], [9], [-2]])
def test_a_batch_without_numbers_of_records_is_refused(batch: Any) -> None:
    with pytest.raises(InvalidValue):
        draw_batches(lambda: [batch] * 20, batches=20, records=9, seed=1)


def test_a_loader_that_ends_at_once_or_does_not_know_its_records_is_refused() -> None:
    with pytest.raises(MechanismFailure, match="without a batch"):
        draw_batches(list, batches=20, records=9, seed=1)
    with pytest.raises(InvalidValue, match="records"):
        draw_batches(lambda: [[0]] * 20, batches=20, records=None, seed=1)


def test_the_epsilon_of_the_record_that_is_drawn_most_often() -> None:
    def weighted(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        rates = np.where(np.arange(100) == 3, 0.5, 0.05)
        return (np.flatnonzero(rng.random(100) < rates) for _ in range(20))

    training = Training(noise_multiplier=Fraction(1), steps=10, delta=Fraction(1, 10**5))
    drawn = draw_batches(weighted, batches=1000, records=100, seed=2)
    found = audit_batches(drawn, read_claim("poisson", "0.05", None), error_probability=1e-6, training=training)
    claimed, record = found.epsilons
    assert (claimed.lower, claimed.upper) == training.poisson(Fraction(1, 20))
    assert 0 <= claimed.upper - claimed.lower < 1e-9
    assert "record 3," in record.batches
    lower, upper = training.poisson(Fraction(1, 2))
    assert claimed.upper < record.lower < lower <= upper < record.upper
    assert SamplerAudit.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_the_page_shows_what_the_terminal_does_and_no_markup_of_others() -> None:
    training = Training(noise_multiplier=Fraction(1), steps=10, delta=Fraction(1, 10**5))
    loader = [list(range(k, k + 10)) for k in range(0, 100, 10)]
    drawn = draw_batches(lambda: loader, batches=50, records=100, seed=1)
    claim = read_claim("poisson", "0.1", None)
    found = audit_batches(drawn, claim, error_probability=1e-6, training=training, seed=1)
    request = SamplerRequest(loader="<b>.py:make", sampling="poisson", rate="0.1", command="dpverdict audit-sampler")
    fields = sampler_fields(found, request)
    assert fields["command"] == "dpverdict audit-sampler --seed 1"
    page = sampler_page(found, fields)
    assert "<b>.py" not in page
    assert "&lt;b&gt;.py:make" in page
    for told in ("REFUTED", found.claim, *found.instead, *(row.text for row in found.epsilons)):
        assert told in page
    for one in found.findings:
        assert one.words in page


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loader.py").write_text(SHUFFLED)
    command = ["audit-sampler", "loader.py:make", "--records", "100", "--batches", "200", "--seed", "1"]
    assert main([*command, "--sampling", "poisson", "--rate", "0.1", "--json", "out.json"]) == 1
    assert capsys.readouterr().out.startswith("REFUTED\n")
    written = json.loads(Path("out.json").read_text())
    assert written["exit_code"] == 1
    jsonschema.validate(written, json_schema(SamplerDocument))
    assert main([*command, "--sampling", "shuffle", "--size", "10"]) == 3
    assert capsys.readouterr().out.startswith("INCONCLUSIVE: no deviation found\n")
    assert main([*command, "--sampling", "shuffle"]) == 2
    assert main(command) == 2
    assert "error: --sampling must be given: add --sampling poisson" in capsys.readouterr().err
    assert main([*command, "--sampling", "shuffle", "--size", "10", "--delta", "1e-5"]) == 2
    assert main(["audit-sampler", "loader.py:fails", "--records", "9", "--sampling", "poisson", "--rate", "0.1"]) == 2
    assert "SystemExit" in capsys.readouterr().err
