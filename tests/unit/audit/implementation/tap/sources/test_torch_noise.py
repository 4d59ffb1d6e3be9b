"""PyTorch's normal draws and the noise of opacus, where they are installed; nothing is replaced where they are not."""

import sys
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.implementation.tap.sources.torch_noise import torch_replaced
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus
from dpverdict.audit.implementation.tap.tapped_runs import tap_runs

PAIR = (np.ones((4, 3), dtype=np.float32), np.ones((3, 3), dtype=np.float32))


def test_nothing_is_replaced_where_torch_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert torch_replaced() == []


def test_normal_tensors_are_followed_and_a_small_scale_is_refuted() -> None:
    torch = pytest.importorskip("torch")
    right = [
        lambda x: torch.tensor(x).sum(0) + torch.randn(3) * 3,
        lambda x: torch.normal(torch.tensor(x).sum(0), 3.0),
        lambda x: (3 * torch.randn_like(torch.zeros(3)) + torch.tensor(x).sum(0)).numpy(),
    ]
    for function in right:
        found = tap_runs(function, PAIR, "mu=1", seed=1)
        assert (found.status, found.mu) == (TapStatus.QUIET, pytest.approx(3**0.5 / 3)), found.text()
    wrong = tap_runs(lambda x: torch.tensor(x).sum(0) + torch.normal(0.0, 1.0, size=(3,)), PAIR, "mu=1", seed=1)
    assert (wrong.status, wrong.mu) == (TapStatus.REFUTED, pytest.approx(3**0.5))


def test_a_step_of_opacus_shows_its_shift_and_its_divisor() -> None:
    torch = pytest.importorskip("torch")
    opacus = pytest.importorskip("opacus")

    def train(data: Any) -> Any:
        torch.manual_seed(3)
        x, y = torch.tensor(data[:, :2]), torch.tensor(data[:, 2:])
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=64)
        model = torch.nn.Linear(2, 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        private, optimizer, _ = opacus.PrivacyEngine(accountant="rdp").make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=loader,
            noise_multiplier=4.0,
            max_grad_norm=1.0,
        )
        ((private(x) - y) ** 2).mean().backward()
        optimizer.step()
        return model.weight.detach().numpy().copy()

    records = np.zeros((128, 3), dtype=np.float32)
    records[:, 0] = 1
    records[0] = [10, 0, 100]
    replaced = records.copy()
    replaced[0] = [10, 0, -100]
    found = tap_runs(train, (records, replaced), "mu=1", seed=1)
    assert found.status is TapStatus.QUIET, found.text()
    assert found.mu == pytest.approx(0.5, rel=1e-5)
    removed = tap_runs(train, (np.vstack([records, records[:1]]), records), "mu=1", seed=1)
    assert removed.status is TapStatus.FINDING  # the divisor comes from the number of records
    assert removed.mu == pytest.approx(0.25, rel=1e-5)
