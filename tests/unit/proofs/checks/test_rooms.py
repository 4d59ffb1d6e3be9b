"""The rooms of the papers are the folders that are there."""

from pathlib import Path

import dpverdict.proofs.checks
from dpverdict.proofs.checks.rooms import RESULTS, import_room, rooms
from dpverdict.proofs.checks.statement import known_statements


def test_a_folder_beside_the_tools_is_a_paper_and_the_own_results_stand_last() -> None:
    here = Path(dpverdict.proofs.checks.__file__).parents[1]
    folders = {path.parent.name for path in here.glob("*/__init__.py")} - {"checks", "verdicts", "ledger", "rocq"}
    assert set(rooms()) == folders
    assert rooms()[-1] == RESULTS
    assert list(rooms()[:-1]) == sorted(rooms()[:-1])


def test_importing_a_room_registers_its_statements() -> None:
    import_room("poulsen2022")
    assert known_statements["poulsen2022"]
