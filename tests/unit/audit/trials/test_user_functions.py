"""What a user writes for functions, numbers and files: read, or refused with the reason."""

import sys
from pathlib import Path

import pytest

from dpverdict.audit.trials.user_functions import (
    files_beside,
    load_callable,
    names_a_callable,
    probability,
    source_files,
)
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import whole_number


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "words_of_a_user.py").write_text(
        "import words_beside_it\ndef noisy(): return words_beside_it.N\nN = 3\n"
    )
    (tmp_path / "words_beside_it.py").write_text("N = 7\n")
    (tmp_path / "words_that_fail.py").write_text("raise RuntimeError('planted')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("words_of_a_user", "words_beside_it"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_a_function_is_named_by_its_module_or_its_file(folder: Path) -> None:
    for text in ("words_of_a_user:noisy", "words_of_a_user.py:noisy", str(folder / "words_of_a_user.py:noisy")):
        assert names_a_callable(text)
        assert load_callable(text, name="mechanism")() == 7
        assert [Path(file).name for file in source_files(text)] == ["words_beside_it.py", "words_of_a_user.py"]
        assert [Path(file).name for file in files_beside(text)] == sorted(path.name for path in folder.glob("*.py"))
    for text in ("noisy", ":noisy", "a:", "a:b.c", "a:1"):
        assert not names_a_callable(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("words_of_a_user", "module:function"),
        ("words_of_a_user:nosy", "did you mean noisy"),
        ("words_of_a_user:N", "a function, not int"),
        ("no_such_module:f", "can be found"),
        ("gone.py:f", "file that exists"),
        ("words_that_fail:f", "planted"),
    ],
)
def test_what_names_no_function_is_refused_with_the_reason(folder: Path, text: str, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        load_callable(text, name="mechanism")
    assert source_files("no_such_module:f") == files_beside("no_such_module:f") == []


def test_the_source_of_a_function_is_what_its_file_imports(folder: Path) -> None:
    (folder / "kit" / "deep").mkdir(parents=True)
    (folder / "kit" / "deep" / "tool.py").write_text("import json\nimport kit\n")
    (folder / "asks.py").write_text("def f():\n    from kit.deep import tool\n")
    found = [str(Path(file).relative_to(Path.cwd())) for file in source_files(str(folder / "asks.py:f"))]
    assert found == ["asks.py", str(Path("kit/deep/tool.py"))]
    (folder / "asks.py").write_text("no Python at all")
    assert [Path(file).name for file in source_files("asks.py:f")] == ["asks.py"]


def test_whole_numbers_and_probabilities_may_have_an_exponent() -> None:
    assert whole_number("2e3", "samples", at_least=1) == 2000
    assert probability("1e-6", "error_probability") == 1e-6
    for bad in ("2.5", "x", "0", "nan", "inf"):
        with pytest.raises(InvalidValue, match="samples"):
            whole_number(bad, "samples", at_least=1)
    for bad in ("0", "1", "-0.1", "nan", "1e-400", "x"):
        with pytest.raises(InvalidValue, match="error_probability"):
            probability(bad, "error_probability")
