"""Lattices kept on disk: the same numbers, bit by bit, whatever is in the folder; planted faults."""

from fractions import Fraction
from pathlib import Path

import pytest
from flint import arb

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.bounded import BoundedLoss, tilted_composition
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import from_pld
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice import kept as kept_module
from dpverdict.audit.losses.lattice import whole
from dpverdict.audit.losses.lattice.kept import decoded, encoded
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.step import SampledStep
from dpverdict.numerics import disk_cache

LAW = FiniteLoss(["0.5", "0.3", "0.2"], ["0.25", "0.25", "0.5"])
FAILURE = FiniteLoss(["0.9", "0.1"], [1, 0])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DPVERDICT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(disk_cache, "LEAST_SECONDS", 0.0)
    return tmp_path / "dpverdict" / "lattices"


def composition(step: float = 0.03125) -> BoundedLoss:
    return BoundedLoss([(LAW, 20), (LaplaceLoss(["0.3"]), 1), (FAILURE, 2)], step, halvings=1)


def numbers(loss: BoundedLoss) -> tuple[object, ...]:
    """Certified values, and all that the lattice below them knows."""
    found = [loss.certified_delta(epsilon) for epsilon in ("-1", "0", "0.5", "3")]
    made = [encoded(one._laws) for one in loss._compositions.values()]
    return *((one.lower, one.upper) for one in found), *made, loss.known_event(Fraction(1, 2))


def without(monkeypatch: pytest.MonkeyPatch) -> tuple[object, ...]:
    with monkeypatch.context() as context:
        context.setenv("DPVERDICT_CACHE", "off")
        return numbers(composition())


def test_numbers_with_and_without_what_is_kept_are_identical(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = without(monkeypatch)
    assert not folder.exists()
    assert repr(numbers(composition())) == repr(truth)
    assert len(list(folder.iterdir())) == 2  # two steps
    monkeypatch.setattr("dpverdict.audit.losses.bounded.composed_laws", lambda parts: 1 / 0)
    assert repr(numbers(composition())) == repr(truth)  # nothing is composed


@pytest.mark.parametrize("place", [0, 40, 100, 400, -1])
def test_tampering_with_a_file_changes_no_number(folder: Path, monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    truth = without(monkeypatch)
    numbers(composition())
    for file in folder.iterdir():
        content = bytearray(file.read_bytes())
        content[place] ^= 255
        file.write_bytes(content)
    assert repr(numbers(composition())) == repr(truth)


def test_the_planted_fault_is_seen_where_the_checksum_is_not_held_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was tampered with does change the numbers of a cache that trusts it."""
    truth = numbers(composition())
    start = len(disk_cache._FIRST) + 2 * disk_cache._DIGEST
    for file in folder.iterdir():
        content = bytearray(file.read_bytes())
        content[-1] ^= 255
        file.write_bytes(content)
    monkeypatch.setattr(disk_cache, "_read", lambda path, digest: path.read_bytes()[start:])
    assert repr(numbers(composition())) != repr(truth)


def test_another_source_or_another_parameter_has_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    composition().certified_delta(0)
    first = len(list(folder.iterdir()))
    composition(0.0625).certified_delta(0)
    second = len(list(folder.iterdir()))
    monkeypatch.setattr(kept_module, "_sources", lambda rooms: "the same formulas, one line changed")
    composition().certified_delta(0)
    assert first < second < len(list(folder.iterdir()))


def test_the_source_is_that_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash of what is on the disk: every file of the room counts."""
    own = frozenset(["dpverdict.audit.losses"])
    before = kept_module._sources.__wrapped__(own)
    assert before == kept_module._sources.__wrapped__(own)
    right = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: right(path) + (b"#" if path.name == "discretise.py" else b""))
    assert kept_module._sources.__wrapped__(own) != before


def test_lattices_for_one_epsilon_are_kept_too(folder: Path) -> None:
    parts = [(LaplaceLoss(["0.3"]), 12), (LAW, 5)]
    one, other = (tilted_composition(parts, Fraction(1, 64), Fraction(3)).bounds(Fraction(3)) for _ in range(2))
    assert len(list(folder.iterdir())) == 1
    assert all(a == b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    "losses",
    [
        (GaussianLoss("0.5"), GaussianLoss("0.50000000000000001")),
        (LaplaceLoss(["0.3"]), LaplaceLoss(["0.3", "0.3"])),
        (LAW, FAILURE),
        (LAW, LAW.reversed()),
        (FAILURE, FAILURE.reversed()),
        tuple(SampledStep(LaplaceLoss([1]), Fraction(1, 2), order) for order in Direction),
        (poisson_sampled(GaussianLoss(1), "0.1").remove, poisson_sampled(GaussianLoss(1), "0.2").remove),
        (from_pld(FAILURE.to_pld(0.05).pessimistic), from_pld(FAILURE.to_pld(0.1).pessimistic)),
    ],
)  # fmt: skip
def test_different_laws_have_different_keys(losses: tuple[PrivacyLoss, PrivacyLoss]) -> None:
    first, second = losses
    assert first.exact_key is not None
    assert repr(first.exact_key) != repr(second.exact_key)
    assert "0x" not in repr(first.exact_key) or "." in repr(first.exact_key)  # no address of an object


def test_a_law_that_is_not_known_exactly_is_not_kept(folder: Path) -> None:
    root = GaussianLoss.from_squared(GaussianLoss.from_squared(2).mu_squared.sqrt())
    assert root.exact_key is None
    BoundedLoss([(root, 1), (LAW, 2)], 0.125, halvings=0).certified_delta(0)
    assert not folder.exists()


def test_laws_are_the_same_after_their_bytes() -> None:
    parts = [(whole.laws_of_atoms(LAW.atom_balls(), Fraction(1, 32), arb(0), Fraction(2)), 9)]
    laws = whole.composed_laws(parts)
    other = decoded(encoded(laws))
    assert encoded(other) == encoded(laws)
    assert (other.up.masses, other.q.first, other.p.lost) == (laws.up.masses, laws.q.first, laws.p.lost)
    assert other.up.scale == laws.up.scale


@pytest.mark.parametrize("content", [b"", b"{}\n", b"[]\n", b"\xff\n", b'{"up": [0, 1, 8, ["0x1", "0x0"], "0x0"]}\n\0'])
def test_bytes_of_something_else_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no laws of a lattice"):
        decoded(content)
