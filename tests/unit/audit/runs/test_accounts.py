"""Releases, scales and events in words: what is written is what is composed, and what cannot be read is refused."""

import hashlib
import json
from pathlib import Path

import dp_accounting
import pytest

from dpverdict.audit import Status
from dpverdict.audit.runs.accounts import calibrated, composed, event_account
from dpverdict.cli.application import main
from dpverdict.errors import InvalidValue

EVENT = '{"class_name": "GaussianDpEvent", "noise_multiplier": 1}'


def test_words_are_composed_with_their_counts() -> None:
    found = composed(["30 x gaussian sigma=10 sensitivity=1", "gaussian sigma=2.5 sensitivity=1"], "mu=1", None)
    assert found.account.status is Status.CERTIFIED
    assert [(count, more) for _, count, more in found.releases] == [(30, 54), (1, 3)]
    assert "spent: 30 x gaussian sigma=10 sensitivity=1; remaining: 54 more of it" in found.text()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "release"),
        ("gaussian sigma 10", "release"),
        ("gaussian sigma=1 sigma=2", "release"),
        ("some x gaussian sigma=1", "a number of times"),
        ("0 x gaussian sigma=1", "releases"),
        ("gausian sigma=1", "mechanism"),
        ("gaussian sigma=1", "sensitivity"),
        ("missing.json", "event"),
    ],
)
def test_a_release_that_cannot_be_read_is_refused(text: str, name: str) -> None:
    with pytest.raises(InvalidValue, match=name):
        composed([text], "mu=1", "add-or-remove-one")


def test_an_event_is_held_to_the_number_of_an_accountant(tmp_path: Path) -> None:
    """The number of the Renyi accountant for one Gaussian, 4.7285: true of a record added, false of one replaced."""
    path = tmp_path / "event.json"
    path.write_text(EVENT)
    claim = "eps=4.7286, delta=1e-5"
    assert event_account(str(path), claim, "add-or-remove-one").status is Status.CERTIFIED
    assert event_account(str(path), claim, "replace-one").status is Status.REFUTED
    for given, relation, name in ((None, "replace-one", "claim"), (claim, None, "adjacency")):
        with pytest.raises(InvalidValue, match=name):
            event_account(str(path), given, relation)
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidValue, match="event"):
        event_account(str(path), claim, "replace-one")


def test_the_scale_that_is_found_is_the_float_that_is_certified() -> None:
    found = calibrated("gaussian", {"sensitivity": "0.1", "dim": None}, "eps=1, delta=1e-6", "1")
    assert found.mechanism.describe()["sensitivity"] == "0.1"
    assert getattr(found.mechanism, "scale", None) == found.scale  # no decimal that is near it


@pytest.mark.parametrize(
    ("name", "words", "wrong"),
    [
        ("tree-counter", {}, "mechanism"),
        ("gaussian", {"sigma": "1", "sensitivity": "1"}, "sigma"),
        ("gaussian", {}, "sensitivity"),
    ],
)
def test_what_leaves_nothing_to_calibrate_is_refused(name: str, words: dict[str, str | None], wrong: str) -> None:
    with pytest.raises(InvalidValue, match=wrong):
        calibrated(name, words, "mu=1", "1")


def test_an_event_has_the_faces_that_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("<event>.json").write_text(EVENT)
    told = ["audit", "<event>.json", "--adjacency", "replace-one", "--claim", "eps=4.7286, delta=1e-5"]
    assert main([*told, "--json", "out.json", "--report", "out.html", "--witness", "w.json", "--quiet"]) == 1
    fields = json.loads(Path("out.json").read_text())
    assert (fields["status"], fields["exit_code"], fields["certified"]) == ("REFUTED", 1, True)
    assert fields["compared"]["attained"]["lower"] > fields["compared"]["allowed"]["upper"]
    assert fields["event_sha256"] == hashlib.sha256(EVENT.encode()).hexdigest()
    page = Path("out.html").read_text()
    assert "REFUTED" in page
    assert "<event>" not in page  # escaped
    assert not Path("w.json").exists()
    assert "there is no witness" in capsys.readouterr().err
    assert main([*told, "--json", "<event>.json"]) == 2
    for option in ("--samples", "--seed", "--neighbours", "--jobs", "--sigma"):
        assert main([*told, option, "3"]) == 2
        assert "left out for an event" in capsys.readouterr().err


def test_the_number_of_an_accountant_that_halves_a_replacement_is_refuted(tmp_path: Path) -> None:
    """google/differential-privacy issue 378: RdpAccountant reads a replacement as a shift by one noise multiplier."""
    rdp = pytest.importorskip("dp_accounting.rdp")
    path, event = tmp_path / "event.json", dp_accounting.GaussianDpEvent(1.0)
    path.write_text('{"class_name": "GaussianDpEvent", "noise_multiplier": 1.0}')
    relations = dp_accounting.NeighboringRelation
    for relation, words, status in (
        (relations.REPLACE_ONE, "replace-one", Status.REFUTED),
        (relations.ADD_OR_REMOVE_ONE, "add-or-remove-one", Status.CERTIFIED),
    ):
        accountant = rdp.RdpAccountant(neighboring_relation=relation)
        accountant.compose(event)
        claim = f"eps={accountant.get_epsilon(1e-5)}, delta=1e-5"
        assert event_account(str(path), claim, words).status is status
