"""The self-test passes here, and every check of it fails when what it checks is broken."""

import importlib
from collections.abc import Callable

import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.cli import selftest
from dpverdict.cli.application import main
from dpverdict.mechanisms.broken import by_name
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
from dpverdict.proofs.checks.identities import identity


def test_every_check_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("ok") for line in lines) == len(selftest.checks())


def passes(name: str) -> bool:
    (check,) = [check for check in selftest.checks() if check.name == name]
    try:
        check.run()
    except Exception:  # a broken part may raise anything
        return False
    return True


@pytest.mark.parametrize(
    ("name", "target", "broken"),
    [
        ("ball arithmetic", "dpverdict.audit.losses.closed_form.GaussianLoss", lambda mu: GaussianLoss(2)),
        ("exact audit", "dpverdict.audit.exact.decide.certify", lambda m: certify(CorrelatedGaussian(dim=2, mu=1))),
        ("exact audit", "dpverdict.audit.exact.decide.certify", lambda m: certify(by_name("M2").make(3, 1))),
        ("distinguishing test", "dpverdict.mechanisms.broken.by_name", lambda name: _Right()),
        ("composition", "dpverdict.audit.losses.composition.compose", lambda *losses: losses[0]),
        ("reports", "dpverdict.audit.reports.html.render_html", lambda report: "CERTIFIED <script>"),
        ("reports", "dpverdict.audit.reports.to_json.read_schema", dict),
        ("theorems", "dpverdict.proofs.lebeda2024.section3.identity", lambda *args, **kwargs: identity("sum", 0, 0)),
    ],
)
def test_a_broken_part_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, target: str, broken: Callable[..., object]
) -> None:
    assert passes(name)
    module, _, attribute = target.rpartition(".")
    monkeypatch.setattr(importlib.import_module(module), attribute, broken)
    assert not passes(name)


def test_a_failure_is_printed_and_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dpverdict.audit.losses.composition.compose", lambda *losses: losses[0])
    assert main(["selftest"]) == 1
    assert "FAILED composition" in capsys.readouterr().out


class _Right:
    """Stands for the zoo: what it makes is right."""

    def make(self, dim: int, mu: int) -> CorrelatedGaussian:
        return CorrelatedGaussian(dim=dim, mu=mu)
