"""The list on a terminal: a line for every mechanism, one with its options, and where a variant can be refuted."""

import io

import pytest
from rich.console import Console

from dpverdict.audit.reports.catalogue import LARGEST_DIM_SHOWN, print_catalogue, print_mechanism
from dpverdict.audit.trials.catalogue import class_named, mechanism_classes, offered, option
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import broken


def printed(width: int, name: str | None = None) -> str:
    console = Console(file=io.StringIO(), width=width)
    if name is None:
        print_catalogue(console)
    else:
        print_mechanism(name, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 250])
def test_every_mechanism_has_one_line(width: int) -> None:
    lines = printed(width).splitlines()
    assert max(map(len, lines)) <= width
    named = [line.split()[0] for line in lines if line.startswith("  ")][:-1]
    if width >= 80:
        assert sorted(named) == sorted(mechanism_classes())
        assert len(lines) <= len(named) + 12  # headings and what stands at the end
        assert not any(line.endswith("\u2026") for line in lines)  # every title fits


def test_one_mechanism_is_shown_with_each_of_its_options_and_an_example_that_works() -> None:
    for name in mechanism_classes():
        text = printed(80, name)
        assert max(map(len, text.splitlines())) <= 80
        for one, (_, said) in offered(name).items():
            assert option(one) in text
            assert said.split()[0] in text
        assert class_named(name).example.split()[0] in text


def test_an_unknown_name_has_the_nearest() -> None:
    with pytest.raises(InvalidValue, match="gaussian"):
        printed(80, "gausian")
    with pytest.raises(InvalidValue, match="variant"):
        printed(80, "broken:Z99")


def test_every_variant_has_a_row() -> None:
    cells = {line.split()[0] for line in printed(250, "broken").splitlines() if line.split()}
    assert {f"broken:{wrong.name}" for wrong in broken.ALL} <= cells
    assert broken.ALL[0].title in printed(250, f"broken:{broken.ALL[0].name}")
    assert broken.ALL[1].title not in printed(250, f"broken:{broken.ALL[0].name}")


def test_the_dimensions_in_which_a_variant_is_private_are_said() -> None:
    text = printed(250, "broken")
    assert f"d <= {LARGEST_DIM_SHOWN}" in text
    rows = {line.split()[0].removeprefix("broken:"): line for line in text.splitlines() if "broken:" in line}
    for name, mutant in ((mutant.name, mutant) for mutant in broken.GAUSSIAN):
        private = [d for d in range(mutant.least_dim, LARGEST_DIM_SHOWN + 1) if not mutant.refutable(d)]
        if private and len(private) < LARGEST_DIM_SHOWN + 1 - mutant.least_dim:
            assert f"but d = {', '.join(map(str, private))}" in rows[name]


def test_the_list_fits_a_narrow_terminal() -> None:
    assert max(map(len, printed(80, "broken").splitlines())) <= 80
