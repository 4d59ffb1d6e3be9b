"""Loaders of torch, Opacus and jax_privacy, audited; each test is skipped where its library is absent."""

from collections.abc import Callable
from typing import Any

import pytest

from dpverdict.audit.batches.claim import read_claim
from dpverdict.audit.batches.drawn import draw_batches
from dpverdict.audit.batches.sampler_audit import SamplerAudit, audit_batches

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries, about themselves
POISSON = ("poisson", "0.05", None)


def audited(make: Callable[..., Any], claim: tuple[str, str | None, str | None], records: int | None) -> SamplerAudit:
    drawn = draw_batches(make, batches=1000, records=records, seed=5)
    return audit_batches(drawn, read_claim(*claim), error_probability=1e-6)


def test_the_loader_of_opacus_is_poisson() -> None:
    torch: Any = pytest.importorskip("torch")
    loaders: Any = pytest.importorskip("opacus.data_loader")

    def make(seed: int) -> Any:
        data = torch.utils.data.TensorDataset(torch.arange(1000))
        return loaders.DPDataLoader(data, sample_rate=0.05, generator=torch.Generator().manual_seed(seed))

    assert not audited(make, POISSON, None).refuted


def test_a_shuffled_loader_of_torch_is_no_poisson_sampling() -> None:
    torch: Any = pytest.importorskip("torch")

    def make(seed: int) -> Any:
        generator = torch.Generator().manual_seed(seed)
        return torch.utils.data.DataLoader(range(1000), batch_size=50, shuffle=True, generator=generator)

    assert not audited(make, ("shuffle", None, "50"), None).refuted
    found = audited(make, POISSON, None)
    assert found.refuted
    assert "shuffled in each pass, batches of 50" in found.instead


def test_a_weighted_sampler_of_torch_draws_with_replacement() -> None:
    torch: Any = pytest.importorskip("torch")

    def make(seed: int) -> Any:
        weights = torch.ones(1000)
        weights[:10] = 20
        generator = torch.Generator().manual_seed(seed)
        sampler = torch.utils.data.WeightedRandomSampler(weights, 1000, generator=generator)
        return torch.utils.data.DataLoader(range(1000), batch_size=50, sampler=sampler)

    found = audited(make, POISSON, None)
    assert found.refuted
    assert found.instead[0].startswith("records drawn with replacement")


def test_batch_selections_of_jax_privacy() -> None:
    selections: Any = pytest.importorskip("jax_privacy.batch_selection")
    right = {
        POISSON: lambda: selections.CyclicPoissonSampling(sampling_prob=0.05, iterations=20),
        ("fixed-size", None, "50"): lambda: selections.FixedBatchSampling(batch_size=50, iterations=20),
        ("balls-in-bins", "1/20", None): lambda: selections.BallsInBinsSampling(cycle_length=20, iterations=20),
    }
    for claim, make in right.items():
        assert not audited(make, claim, 1000).refuted
    wrong = (
        lambda: selections.FixedBatchSampling(batch_size=50, iterations=20),
        lambda: selections.CyclicPoissonSampling(sampling_prob=0.05, iterations=20, truncated_batch_size=55),
        lambda: selections.CyclicPoissonSampling(sampling_prob=0.5, iterations=20, cycle_length=10),
    )
    for make in wrong:
        assert audited(make, POISSON, 1000).refuted
