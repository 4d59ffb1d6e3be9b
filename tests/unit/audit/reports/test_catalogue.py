"""The list on a terminal: a row for every mechanism and for every variant, with where it can be refuted."""

import io

from rich.console import Console

from dpverdict.audit.reports.catalogue import LARGEST_DIM_SHOWN, print_catalogue
from dpverdict.audit.trials.catalogue import mechanism_classes
from dpverdict.mechanisms import broken


def printed(width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    print_catalogue(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_every_mechanism_and_every_variant_has_a_row() -> None:
    text = printed(250)
    cells = {line.split()[0] for line in text.splitlines() if line.split()}
    assert set(mechanism_classes()) <= cells
    assert {f"broken:{wrong.name}" for wrong in broken.ALL} <= cells


def test_the_dimensions_in_which_a_variant_is_private_are_said() -> None:
    text = printed(250)
    assert f"d <= {LARGEST_DIM_SHOWN}" in text
    rows = {line.split()[0].removeprefix("broken:"): line for line in text.splitlines() if "broken:" in line}
    for name, mutant in ((mutant.name, mutant) for mutant in broken.GAUSSIAN):
        private = [d for d in range(mutant.least_dim, LARGEST_DIM_SHOWN + 1) if not mutant.refutable(d)]
        if private and len(private) < LARGEST_DIM_SHOWN + 1 - mutant.least_dim:
            assert f"but d = {', '.join(map(str, private))}" in rows[name]


def test_the_list_fits_a_narrow_terminal() -> None:
    assert max(map(len, printed(80).splitlines())) <= 80
