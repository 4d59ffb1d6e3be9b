"""Checkers that share no code accept every exported certificate, and notice one digit that was changed in any of them.

The one is tests/certificate_checker.py, on fractions and on the intervals of mpmath; the other an SMT solver, where z3
is installed (`pip install z3-solver`). The seals notice every change. How much is noticed without them, from what the
numbers say, is tested too: else a certificate would be little more than its checksum.
"""

import hashlib
import json
import random
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dpverdict.proofs.checks.registry import statements
from dpverdict.proofs.ledger.certificates import certificates
from dpverdict.proofs.ledger.recheck import CertificateRefused, recheck

CHECKER = Path(__file__).parents[1] / "certificate_checker.py"
checker = runpy.run_path(str(CHECKER))
check, Refused = checker["check"], checker["Refused"]
PROVED, COMPARED, AT_POINTS, OPEN = (checker[name] for name in ("PROVED", "COMPARED", "AT_POINTS", "OPEN"))
SAMPLE = ["lem3.1", "lem3.2", "lem3.3", "sec3.recover", "cor3.1", "lem3.5", "poster.error", "poster.line1", "lem4.3"]
"""Statements of quick checks: identities, inequalities, refutations with a point."""
SEED = 20261123
Z3 = shutil.which("z3") or shutil.which("z3", path=str(Path(sys.executable).parent))


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return certificates([("lebeda2024", number) for number in SAMPLE])


def documents(files: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in files.items() if name.endswith(".json") and name != "MANIFEST.json"}


def with_another_digit(text: str, rng: random.Random) -> str:
    """The text with one of its digits replaced by another."""
    place = rng.choice([found.start() for found in re.finditer("[0-9]", text)])
    return text[:place] + rng.choice([d for d in "0123456789" if d != text[place]]) + text[place + 1 :]


def accepted(text: str) -> bool:
    try:
        check(json.loads(text))
    except (Refused, ValueError, KeyError):
        return False
    return True


def accepted_here(text: str) -> bool:
    try:
        recheck(json.loads(text))
    except (CertificateRefused, ValueError):
        return False
    return True


def test_the_independent_checker_shares_no_code() -> None:
    source = CHECKER.read_text(encoding="utf-8")
    imports = re.findall(r"^(?:from|import) (\w+)", source, re.MULTILINE)
    assert "dpverdict" not in imports
    assert {"sympy", "flint", "numpy"}.isdisjoint(imports)


def test_a_run_of_the_checker_reads_files_and_folders_and_says_when_there_is_none(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, text = next(iter(documents(files).items()))
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    assert checker["main"]([str(tmp_path)]) == 2
    assert "no certificate in" in capsys.readouterr().out
    file.write_text(text, encoding="utf-8")
    assert checker["main"]([str(file)]) == checker["main"]([str(tmp_path)]) == 0
    alone, in_folder = capsys.readouterr().out.splitlines()
    assert alone == in_folder
    assert not alone.startswith("0 conditions proved")
    file.write_text(text.replace('"', "", 1), encoding="utf-8")
    assert checker["main"]([str(file)]) == 1


def test_both_accept_what_was_exported_and_say_how_much_of_it_they_proved(files: dict[str, str]) -> None:
    grades: Counter[str] = Counter()
    for text in documents(files).values():
        grades += check(json.loads(text))
        recheck(json.loads(text))
    assert grades[PROVED] > 20
    assert grades[PROVED] > grades[COMPARED] + grades[AT_POINTS] + grades[OPEN]


def test_both_refuse_a_changed_digit(files: dict[str, str]) -> None:
    rng = random.Random(SEED)
    for text in documents(files).values():
        for _ in range(30):
            changed = with_another_digit(text, rng)
            assert not accepted(changed)
            assert not accepted_here(changed)


NUMBERS = {"identity": ["sides"], "inequality": ["expression", "at_least", "numerator", "denominator"]}


def test_most_digits_are_noticed_without_the_seal(files: dict[str, str]) -> None:
    """A digit in one side of an identity, or in one of the parts of an inequality, makes it another that is false."""
    rng, noticed, tried = random.Random(SEED), 0, 0
    for text in documents(files).values():
        for _ in range(20):
            document = json.loads(text)
            conditions = [c for reading in document["readings"] for c in reading["conditions"]]
            pieces = [p for c in conditions for p in c["evidence"] if p["kind"] in NUMBERS]
            fields = [(p, k) for p in pieces for k in NUMBERS[p["kind"]] if re.search("[0-9]", json.dumps(p[k]))]
            if not fields:
                break
            piece, key = rng.choice(fields)
            try:
                piece[key] = json.loads(with_another_digit(json.dumps(piece[key]), rng))
            except ValueError:
                continue
            tried += 1
            try:
                grades = check(document, sealed=False)
                noticed += grades != check(json.loads(text))  # no longer proved
            except (Refused, SyntaxError):
                noticed += 1
    assert tried > 60
    assert noticed >= 0.9 * tried


def answers(text: str, folder: Path) -> list[str]:
    """What the solver says to each block; none if the file is not what was sealed."""
    first, _, rest = text.partition("\n")
    if first != f"; sha256 {hashlib.sha256(rest.encode()).hexdigest()}":
        return []
    (folder / "question.smt2").write_text(text, encoding="utf-8")
    assert Z3 is not None
    found = subprocess.run([Z3, "-t:20000", folder / "question.smt2"], capture_output=True, text=True, check=False)
    return found.stdout.split()


@pytest.mark.skipif(Z3 is None, reason="z3 is not installed")
def test_the_solver_accepts_every_block_and_refuses_a_changed_digit(files: dict[str, str], tmp_path: Path) -> None:
    rng = random.Random(SEED)
    for name, text in files.items():
        if name.endswith(".smt2"):
            assert answers(text, tmp_path) == ["unsat"] * text.count("(check-sat)") != [], name
            assert not any(answers(with_another_digit(text, rng), tmp_path) for _ in range(30))


def test_the_solver_is_asked_something_of_every_identity_and_inequality(files: dict[str, str]) -> None:
    for name, text in documents(files).items():
        pieces = [p for r in json.loads(text)["readings"] for c in r["conditions"] for p in c["evidence"]]
        if any(piece["kind"] in NUMBERS for piece in pieces):
            assert "(check-sat)" in files[name.replace(".json", ".smt2")]


@pytest.mark.slow
def test_every_statement_of_the_ledger(tmp_path: Path) -> None:
    """All certificates: accepted, each refused with one digit changed, and how many conditions are proved from them."""
    made = certificates([(one.paper, one.number) for one in statements()])
    rng, grades = random.Random(SEED), Counter[str]()
    for text in documents(made).values():
        grades += check(json.loads(text))
        recheck(json.loads(text))
        changed = with_another_digit(text, rng)
        assert not accepted(changed)
        assert not accepted_here(changed)
    print(dict(grades))
    assert grades[PROVED] >= 0.3 * grades.total()
    assert grades[OPEN] <= 0.15 * grades.total()
