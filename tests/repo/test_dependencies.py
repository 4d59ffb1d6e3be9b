"""The page on dependencies names every one of them, with a licence that fits what the distribution says of itself."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGE = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
NEEDED = [re.split(r"[<>=!~\[ ]", requirement)[0] for requirement in PROJECT["dependencies"]]
FAMILIES = ("MIT", "BSD", "Apache", "LGPL", "PSF|Python Software Foundation|[Mm]atplotlib")


def licences(page: str) -> dict[str, str]:
    """The second column of the table, by package."""
    rows = re.findall(r"^\| ([\w-]+) \| ([^|]+) \|", page, re.MULTILINE)
    return {name: licence for name, licence in rows if name != "package"}


def families(text: str) -> set[str]:
    return {family for family in FAMILIES if re.search(rf"(?<![A-Za-z])(?:{family})", text)}


def stated(package: str) -> str:
    """What a distribution says of its licence."""
    data = importlib.metadata.metadata(package)
    classifiers = [line for line in data.get_all("Classifier") or [] if line.startswith("License")]
    return " ".join([data.get("License-Expression") or (data.get("License") or "")[:200], *classifiers])


def test_the_page_has_a_row_for_every_dependency_and_no_other() -> None:
    assert list(licences(PAGE)) == NEEDED


@pytest.mark.parametrize("package", NEEDED)
def test_a_licence_on_the_page_is_that_of_the_distribution(package: str) -> None:
    assert families(licences(PAGE)[package]) & families(stated(package)), (licences(PAGE)[package], stated(package))


def test_the_copyleft_part_is_named() -> None:
    assert "LGPL" in licences(PAGE)["python-flint"]
    assert "LGPL" in stated("python-flint")


def test_a_wrong_licence_is_found() -> None:
    assert not families("MIT") & families(stated("scipy"))
    assert licences("| numpy | MIT | x |\n") == {"numpy": "MIT"}
