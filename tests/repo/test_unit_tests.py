"""The unit tests have the rooms of the product: a test file for every source file, named after it, and no other."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
FOLDERS = {"src/dpverdict": "", "audit": "audit", "mechanisms": "mechanisms", "proofs": "proofs"}
TOOLS_OF_PROOFS = {"checks", "ledger"}
"""The rooms of proofs/ that are no papers; a paper has one test file, in unit/proofs/papers/."""
WITHOUT_TESTS: Mapping[str, str] = {}
"""Source files without a test file of their own, each with the reason."""


def sources(root: Path) -> set[PurePosixPath]:
    """Where the tests of every source file belong, without the ``test_`` before the name."""
    found = set()
    for folder, room in FOLDERS.items():
        for path in (root / folder).rglob("*.py"):  # it does not descend into links
            inside = PurePosixPath(room, path.relative_to(root / folder).as_posix())
            if room == "proofs" and len(inside.parts) > 2 and inside.parts[1] not in TOOLS_OF_PROOFS:
                found.add(PurePosixPath("proofs/papers", f"{inside.parts[1]}.py"))
            elif path.name not in ("__init__.py", "__main__.py"):
                found.add(inside)
    return found


def owner(test: PurePosixPath, found: set[PurePosixPath]) -> PurePosixPath | None:
    """The source file that a test file is named after: ``test_noise.py``, or ``test_noise_`` and a subject."""
    named = test.stem.removeprefix("test_")
    owners = [one for one in found if one.parent == test.parent and f"{named}_".startswith(f"{one.stem}_")]
    return max(owners, key=lambda one: len(one.stem), default=None)


def misplaced(root: Path, excused: Mapping[str, str] = WITHOUT_TESTS) -> list[str]:
    """Every source file without a test file, test file without a source file, and excuse without need."""
    unit = root / "tests/unit"
    found = sources(root)
    tests = {PurePosixPath(path.relative_to(unit).as_posix()) for path in unit.rglob("test_*.py")}
    owners = {test: owner(test, found) for test in tests}
    untested = {str(one) for one in found - set(owners.values())}
    return sorted(
        [
            *(f"tests/unit/{test}: named after no source file" for test, one in owners.items() if one is None),
            *(f"{one}: has no test file" for one in untested - excused.keys()),
            *(f"{one}: is excused without need" for one in excused.keys() - untested),
        ]
    )


def test_every_source_file_has_its_test_file_and_every_test_file_its_source_file() -> None:
    assert misplaced(ROOT) == []
    assert len(sources(ROOT)) > 100


def test_what_is_out_of_place_is_found(tmp_path: Path) -> None:
    for name in (
        *("src/dpverdict/balls.py", "audit/__init__.py", "audit/losses/noise.py", "audit/losses/noise_floor.py"),
        *("proofs/checks/boxes.py", "proofs/bun2016/__init__.py", "proofs/bun2016/section3.py"),
        *("tests/unit/test_balls.py", "tests/unit/audit/losses/test_noise_floor_far.py"),
        *("tests/unit/audit/losses/test_noisy.py", "tests/unit/proofs/papers/test_bun2016.py"),
        "tests/unit/test_boxes.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert misplaced(tmp_path, {"balls.py": "it is tested elsewhere"}) == [
        "audit/losses/noise.py: has no test file",
        "balls.py: is excused without need",
        "proofs/checks/boxes.py: has no test file",
        "tests/unit/audit/losses/test_noisy.py: named after no source file",
        "tests/unit/test_boxes.py: named after no source file",
    ]
    assert "proofs/checks/boxes.py: has no test file" not in misplaced(tmp_path, {"proofs/checks/boxes.py": "a reason"})
