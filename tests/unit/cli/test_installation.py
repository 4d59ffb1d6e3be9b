"""The list names everything; the doctor says what to do; the self-test fails when what it checks is broken."""

import importlib
import importlib.metadata
from collections.abc import Callable

import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.cli import installation
from dpverdict.cli.application import main
from dpverdict.mechanisms.broken import by_name
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian
from dpverdict.proofs.checks.identities import identity

PUBLISHED = ["correlated-gaussian", "grouped-gaussian", "elliptical-gaussian", "standard-gaussian"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and standard output of a command that has nothing to say on standard error."""
    code = main(arguments)
    printed = capsys.readouterr()
    assert printed.err == ""
    return code, " ".join(printed.out.split())


def test_the_list_names_every_mechanism_and_every_known_wrong_one(capsys: pytest.CaptureFixture[str]) -> None:
    from dpverdict.mechanisms import broken

    for command, names in ((["list"], PUBLISHED), (["list", "broken"], [f"broken:{one.name}" for one in broken.ALL])):
        code, text = answer(capsys, *command)
        assert code == 0
        assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("name", ["broken:M3", "dp-sgd"])
def test_one_mechanism_is_listed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = answer(capsys, "list", name)
    assert code == 0
    assert name in text
    assert main(["list", f"{name}x"]) == 2


def test_this_environment_lacks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "own process: code under audit runs in one" in said
    assert "MISSING" not in said


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        ({"numpy": "1.26.4"}, "numpy: 1.26.4, 2.0 or newer: pip install -U numpy"),
        ({"mpmath": None}, "mpmath: missing, 1.3 or newer"),
    ],
)
def test_what_is_too_old_or_missing_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], versions: dict[str, str | None], told: str
) -> None:
    true: Callable[[str], str] = importlib.metadata.version

    def version(name: str) -> str:
        found = versions.get(name, "") if name in versions else true(name)
        if found is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(
        installation,
        "_own_process",
        lambda: installation.InstallationFinding(name="own process", good=True, seen="left out"),
    )
    assert main(["doctor"]) == 1
    assert told in " ".join(capsys.readouterr().out.split())


def test_a_process_that_cannot_start_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "__name__", "dpverdict.cli.gone")
    found = installation._own_process()
    assert found.good is False
    assert "cannot be run" in found.seen


def test_every_check_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("ok") for line in lines) == len(installation.checks())


def passes(name: str) -> bool:
    (check,) = [check for check in installation.checks() if check.name == name]
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
    """Unbroken it passes: see test_every_check_passes."""
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
