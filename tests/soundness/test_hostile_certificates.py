"""Certificates that somebody made to hang a checker, or to have something false accepted: refused at once, by both.

The one checker is `dpverdict check`, the other tests/certificate_checker.py, which shares no code with it.
"""

import contextlib
import hashlib
import json
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpverdict.audit.isolation.process import Limits
from dpverdict.errors import InvalidValue
from dpverdict.proofs.ledger.certificate_files import CheckUnfinished, check_files, checked
from dpverdict.proofs.ledger.certificates import FORMAT, seal
from dpverdict.proofs.ledger.recheck import OPEN

CHECKER = runpy.run_path(str(Path(__file__).parents[1] / "certificate_checker.py"))
SECONDS = 5.0
"""Of processor time: far below what the arithmetic would take that these files ask for."""

TRUE = {"kind": "comparison", "left": "1", "right": "2", "signs": ["<"], "holds": True}
X = {"x": "positive real"}


def certificate(*evidence: object, holds: object = True) -> dict[str, Any]:
    condition = {"name": "a", "holds": holds, "evidence": list(evidence)}
    return {"format": FORMAT, "readings": [{"reading": "as printed", "conditions": [condition]}]}


def identity(left: str, right: str = "x") -> dict[str, Any]:
    return {"kind": "identity", "sides": [[left, right]], "variables": X}


def difference(value: str) -> dict[str, Any]:
    return {"kind": "difference", "left": value, "right": "x", "variables": X, "at": {"x": "2"}}


def box(expression: str) -> dict[str, Any]:
    piece = {"kind": "boxes", "expression": expression, "variables": X, "box": [["1", "2"]]}
    return piece | {"parts": [[["1", "2"], "1/2"]]}


def compared(left: object) -> dict[str, Any]:
    return TRUE | {"left": left}


def sealed(document: dict[str, Any]) -> str:
    return json.dumps(document | {"sha256": seal(document)})


LARGE = ["1e300000000", "1e-300000000", "1*2**300000000", "1*2**-300000000", "1" * 30_000, f"1e{'9' * 400}"]
TOWERS = [
    "9**9**9**9",
    "9**9**9",
    "2**(10**10)",
    "(2/3)**100000000",
    "2**(1/3)*7**(10**9)",
    "+".join(["2**2000000"] * 3) + "*" + "*".join(["2**2000000"] * 100),
]
GROWTH = ["factorial(10**8)", "gamma(10**8)", "binomial(10**9, 5*10**8)", "harmonic(10**8)"]
EXPONENTIALS = ["exp(10**9)", "exp(exp(exp(exp(10))))"]
DEEP = ["(" * 5000 + "x" + ")" * 5000, "-" * 5000 + "x", "+".join(["x"] * 4000), "x*" * 200_000 + "x"]

REFUSED = {
    **{f"large {number:.15} of {len(number)}": certificate(compared(number)) for number in LARGE[2:]},
    **{f"deep {text:.5} of {len(text)}": certificate(identity(text, text)) for text in DEEP},
    **{f"deep box {text:.5} of {len(text)}": certificate(box(text)) for text in DEEP},
    "printed": certificate({"kind": "rounding", "printed": "1e300000000", "value": "1", "holds": True}),
    "printed digits": certificate({"kind": "rounding", "printed": "0." + "3" * 100_000, "value": "1", "holds": True}),
    "inverse": certificate({"kind": "inverse", "matrix": [["1e300000000"]], "inverse": [["1"]], "values": []}),
    "empty matrix": certificate({"kind": "inverse", "matrix": [], "inverse": [], "values": []}),
    "box of nothing": certificate(box("x") | {"box": [["1", "1e300000000"]]}),
    "false comparison": certificate(compared("3")),
    "comparison that speaks against": certificate(compared("3") | {"holds": False}),
    "true and false together": certificate(TRUE, compared("3") | {"holds": False}),
    "shown to fail": certificate(identity("x"), difference("3")),
    "shown to hold": certificate(TRUE, holds=False),
    "holds is a text": certificate(TRUE, holds="true"),
    "no condition": {"format": FORMAT, "readings": [{"reading": "as printed", "conditions": []}]},
    "no reading": {"format": FORMAT, "readings": []},
}
UNDECIDED = {
    **{f"tower {text:.20}": certificate(identity(text)) for text in TOWERS},
    **{f"growth {text}": certificate(identity(text)) for text in GROWTH},
    **{f"exponential {text}": certificate(difference(text)) for text in EXPONENTIALS},
    "large decimal": certificate(compared("1e300000000")),
    "small decimal": certificate(compared("1e-300000000")),
    "a float": certificate(identity("0.1 + 0.2", "0.3")),
}
"""What a checker may also call undecided: it is never called proved or compared."""

TEXTS = {
    "key twice": sealed(certificate(TRUE)).replace('"holds": true}]', '"holds": false, "holds": true}]'),
    "readings twice": sealed(certificate(TRUE)).replace('"readings"', '"readings": [], "readings"', 1),
    "deep": "[" * 200_000 + "]" * 200_000,
    "deep within": sealed(certificate(TRUE))[:-1] + ', "more": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "long number": sealed(certificate(TRUE))[:-1] + f', "more": {"1" * 5000}}}',
    "no number": sealed(certificate(TRUE))[:-1] + ', "more": NaN}',
    "no text": "\ud800",
    "nothing": "",
}


def _code(path: Path) -> int:
    """What our checker ends with."""
    try:
        return check_files(path).exit_code
    except InvalidValue:
        return 2


def timed(call: Callable[[], object]) -> object:
    began = time.process_time()
    found = call()
    assert time.process_time() - began < SECONDS
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_false_or_too_large_is_refused_at_once(name: str, tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    path.write_text(sealed(REFUSED[name]))
    assert timed(lambda: _code(path)) == 1
    assert timed(lambda: CHECKER["main"]([str(path)])) == 1


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_is_too_large_is_never_called_proved(name: str, tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    path.write_text(sealed(UNDECIDED[name]))
    found = timed(lambda: check_files(path))
    assert found.refused or found.grades == {OPEN: 1}  # type: ignore[attr-defined]
    assert timed(lambda: _independent(path)) in ("refused", {"left open": 1})


def _independent(path: Path) -> object:
    try:
        return CHECKER["check"](CHECKER["read"](path))
    except CHECKER["Refused"]:
        return "refused"


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_plain_json_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    path.write_bytes(TEXTS[name].encode("utf-8", "surrogatepass"))
    assert timed(lambda: _code(path)) == 2
    assert timed(lambda: CHECKER["main"]([str(path)])) == 1


@pytest.mark.parametrize("files", [{}, [], {"a.txt": hashlib.sha256(b"text").hexdigest()}, {"gone.json": "0" * 64}])
def test_a_manifest_without_the_certificates_is_refused(files: object, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    manifest = {"format": FORMAT, "files": files}
    (tmp_path / "MANIFEST.json").write_text(sealed(manifest))
    assert check_files(tmp_path).exit_code == 1
    assert CHECKER["main"]([str(tmp_path)]) == 1


def test_a_certificate_that_the_manifest_does_not_name_is_refused(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(sealed(certificate(TRUE)))
    digest = hashlib.sha256((tmp_path / "a.json").read_bytes()).hexdigest()
    (tmp_path / "MANIFEST.json").write_text(sealed({"format": FORMAT, "files": {"a.json": digest}}))
    assert check_files(tmp_path).refused == (("b.json", "the manifest does not name it"),)
    assert CHECKER["main"]([str(tmp_path)]) == 1
    (tmp_path / "b.json").unlink()
    assert check_files(tmp_path).exit_code == 0
    assert CHECKER["main"]([str(tmp_path)]) == 0


def test_a_check_that_takes_too_long_says_so_and_is_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "made.json"
    path.write_text(sealed(certificate(*[box("x - x + 1/4") | {"parts": [[["1", "2"], "1/8"]]}] * 4000)))
    with pytest.raises(
        CheckUnfinished, match=r"did not finish within 0\.1 seconds and was stopped, so nothing is known"
    ):
        checked(path, Limits(seconds=0.1))
    assert CHECKER["main"](["--timeout", "0.2", str(path)]) == 2
    assert "NOT FINISHED" in capsys.readouterr().out


def test_an_alarm_that_a_library_turns_into_an_error_of_its_own_is_no_refusal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_interval_comparisons_do(path: Path) -> None:
        try:
            time.sleep(60)
        except BaseException:
            raise TypeError("'>' not supported between instances of 'ivmpf' and 'int'") from None

    def as_equality_does(path: Path) -> dict[str, object]:
        with contextlib.suppress(BaseException):
            time.sleep(60)
        while True:
            pass

    path = tmp_path / "made.json"
    path.write_text(sealed(certificate(TRUE)))
    for reading in (as_interval_comparisons_do, as_equality_does):
        monkeypatch.setitem(CHECKER["main"].__globals__, "read", reading)
        assert CHECKER["main"](["--timeout", "0.05", str(path)]) == 2
        assert "NOT FINISHED" in capsys.readouterr().out
