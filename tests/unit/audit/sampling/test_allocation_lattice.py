"""Random allocation on a lattice: around the certified profile, for any number of steps, and with planted faults."""

import dataclasses
import math
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpverdict.audit.losses.domains import Direction
from dpverdict.audit.losses.lattice import kept as kept_module
from dpverdict.audit.losses.lattice.bounds import LatticeBounds
from dpverdict.audit.sampling import allocation_lattice as allocation_module
from dpverdict.audit.sampling.allocation import AllocationLoss
from dpverdict.audit.sampling.allocation_lattice import AllocationLattice, allocation_lattice, decoded
from dpverdict.errors import ContradictoryBounds, InvalidValue
from dpverdict.numerics import disk_cache

ORACLES = {
    ("1", 10, Direction.REMOVE, 1.0): 2.78286899918157e-3,
    ("1", 10, Direction.ADD, 1.0): 4.86185808500802e-4,
    ("1", 10, Direction.REMOVE, 2.0): 2.4753631497e-5,
}
"""Of the inverse Laplace transform, which shares no code with the lattice."""


def bounds(lattice: AllocationLattice, order: Direction, epsilon: float) -> tuple[float, float]:
    return LatticeBounds([(lattice.pair(order), 1)]).delta_bounds(epsilon)


@pytest.fixture(scope="module")
def lattice() -> AllocationLattice:
    return AllocationLattice(Fraction(1), 10, 2.0**-6)


@pytest.mark.parametrize(("order", "epsilon"), [(order, epsilon) for _, _, order, epsilon in ORACLES][:2])
def test_the_bounds_are_around_the_certified_profile(
    lattice: AllocationLattice, order: Direction, epsilon: float
) -> None:
    lower, upper = bounds(lattice, order, epsilon)
    assert lower < ORACLES["1", 10, order, epsilon] < upper < lower * 1.01


def test_the_gap_falls_with_the_square_of_the_interval(lattice: AllocationLattice) -> None:
    widths = []
    for one in (AllocationLattice(Fraction(1), 10, 2.0**-5), lattice):
        lower, upper = bounds(one, Direction.REMOVE, 1.0)
        widths.append(upper - lower)
    assert widths[1] < widths[0] / 3


@pytest.mark.parametrize("steps", [2, 3, 5, 12])
def test_any_number_of_steps_has_the_mean_and_the_variance_of_the_ratio(steps: int) -> None:
    """E R = 1 and E R^2 = 1 + (e - 1)/T at s = 1: the law from above has more, that from below has less."""
    one = AllocationLattice(Fraction(1), steps, 2.0**-4)
    second = 1 + math.expm1(1) / steps
    above, below = one._above, one._below
    assert below.p is not None
    points = one._points(above)
    assert above.q @ points == pytest.approx(1, abs=1e-12)
    assert below.p.sum() == pytest.approx(1, abs=1e-12)
    assert below.p @ (below.p / below.q) < second < above.q @ points**2
    assert above.q @ points**2 - below.p @ (below.p / below.q) < 0.03 * second


def test_rounding_down_in_place_of_splitting_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    place = AllocationLattice._place

    def rounded(*given: object) -> None:
        *head, above, width, times = given
        place(*head, math.floor(above), width, times)  # type: ignore[arg-type]

    monkeypatch.setattr(AllocationLattice, "_place", staticmethod(rounded))
    wrong = AllocationLattice(Fraction(1), 10, 2.0**-6)
    with pytest.raises(ContradictoryBounds):
        bounds(wrong, Direction.REMOVE, 1.0)


def test_what_is_cut_off_is_charged(lattice: AllocationLattice) -> None:
    for order, part in ((Direction.REMOVE, 1), (Direction.ADD, 0)):
        pair = lattice.pair(order)
        assert pair.pessimistic.infinity_mass >= lattice._above.cut[part] > 0
        assert pair.optimistic.infinity_mass == 0
        assert np.all(pair.pessimistic.masses >= 0)


def test_an_interval_that_takes_too_many_points_is_refused() -> None:
    with pytest.raises(InvalidValue, match="larger interval"):
        AllocationLattice(Fraction(1), 10, 2.0**-16)


def test_the_spread_is_about_the_size_of_the_loss(lattice: AllocationLattice) -> None:
    loss = AllocationLoss(Fraction(1), 10, Direction.REMOVE)
    assert loss.spread() == lattice.spread() == 0.5


# kept on disk ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DPVERDICT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(disk_cache, "LEAST_SECONDS", 0.0)
    return tmp_path / "dpverdict" / "lattices"


def made_or_read() -> AllocationLattice:
    return allocation_lattice.__wrapped__(Fraction(1), 10, 2.0**-5)


def numbers(lattice: AllocationLattice) -> bytes:
    return pickle.dumps([value for law in lattice.laws for value in dataclasses.astuple(law)])


def no_sum(*_: object, **__: object) -> None:
    raise ZeroDivisionError


def test_a_lattice_is_read_back_bit_by_bit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = numbers(made_or_read())
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(AllocationLattice, "_sum", no_sum)
    assert numbers(made_or_read()) == truth


@pytest.mark.parametrize("fault", ["bits", "cut off", "source", "no lattice"])
def test_a_lattice_that_is_not_this_one_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    made_or_read()
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    if fault == "bits":
        content[-200] ^= 1
        path.write_bytes(content)
    elif fault == "cut off":
        path.write_bytes(content[:-1])
    elif fault == "source":
        monkeypatch.setattr(kept_module, "_sources", lambda rooms: "of another version")
    else:
        monkeypatch.setattr(allocation_module, "decoded", lambda content, interval: decoded(b"none", interval))
    monkeypatch.setattr(AllocationLattice, "_sum", no_sum)
    with pytest.raises(ZeroDivisionError):
        made_or_read()
