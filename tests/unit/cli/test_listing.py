"""``dpverdict list`` names everything there is to audit."""

import pytest

from dpverdict.cli.application import main

PUBLISHED = ["correlated-gaussian", "grouped-gaussian", "elliptical-gaussian", "standard-gaussian"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and standard output of a command that has nothing to say on standard error."""
    code = main(arguments)
    printed = capsys.readouterr()
    assert printed.err == ""
    return code, " ".join(printed.out.split())


def test_the_list_names_every_mechanism_and_every_known_wrong_one(capsys: pytest.CaptureFixture[str]) -> None:
    from dpverdict.mechanisms import broken

    code, text = answer(capsys, "list")
    assert code == 0
    for name in [*PUBLISHED, *(f"broken:{mutant.name}" for mutant in broken.ALL)]:
        assert name in text
