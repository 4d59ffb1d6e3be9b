"""The hash of an outcome covers all code that its check reaches, and no other."""

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import pytest
import sympy

from dpverdict.numerics.sources import reached
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import matching, statements
from dpverdict.proofs.checks.source_hash import source_sha256
from dpverdict.proofs.checks.statement import known_statements


def helper() -> int:
    return 1


def uses_helper() -> int:
    return helper()


def uses_nothing() -> int:
    return 1


def test_the_hash_covers_what_a_check_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    before = source_sha256(uses_helper), source_sha256(uses_nothing)
    monkeypatch.setitem(uses_helper.__globals__, "helper", lambda: 2)
    after = source_sha256(uses_helper), source_sha256(uses_nothing)
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_a_claim_of_a_library_does_not_bring_in_the_library() -> None:
    quarter, third = Fraction(1, 4), Fraction(1, 3)
    assert Fraction in reached(uses_helper, quarter)  # a root of its own: the library's code is followed
    assert Fraction not in reached(uses_helper, (quarter,))
    assert quarter in reached(uses_helper, (quarter,))
    assert source_sha256(uses_helper, quarter) != source_sha256(uses_helper, third)
    assert source_sha256(uses_helper, sympy.S.Half) != source_sha256(uses_helper, sympy.S.One)
    assert sympy.Rational not in reached(uses_helper, (sympy.S.Half,), data=True)


LEVELS = (Fraction(1, 3), Fraction(1, 5))
TABLE = {"one": [1, 2], "two": [3]}
remembered: dict[str, int] = {}


def uses_data() -> object:
    return LEVELS, TABLE, remembered


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEVELS", (Fraction(1, 3),)),
        ("LEVELS", (Fraction(1, 5), Fraction(1, 3))),
        ("TABLE", {"one": [1], "two": [3]}),
        ("TABLE", {"one": [2, 1], "two": [3]}),
    ],
)
def test_the_hash_covers_the_constants_of_a_module(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    before = source_sha256(uses_data)
    monkeypatch.setitem(uses_data.__globals__, name, value)
    assert source_sha256(uses_data) != before


class Named(NamedTuple):
    size: int

    def half(self) -> int:
        return self.size // 2


NAMED = (Named(4),)


def uses_named() -> int:
    return NAMED[0].half()


def test_the_hash_covers_the_methods_of_tuples_with_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Named.half in reached(uses_named, data=True)
    before = source_sha256(uses_named)
    monkeypatch.setattr(Named, "half", uses_nothing)
    assert source_sha256(uses_named) != before


def test_what_a_module_remembers_changes_nothing() -> None:
    before = source_sha256(uses_data)
    remembered["call"] = 1
    assert source_sha256(uses_data) == before


def test_a_check_that_runs_another_rests_on_no_other_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = matching("lebeda2024", "lem4.2")  # its check runs that of Algorithm 2, line 2
    before = found.source_sha256
    monkeypatch.setitem(known_statements["lebeda2024"], "another", replace(found, number="another", text="of another"))
    assert found.source_sha256 == before


def test_what_ran_changes_no_hash() -> None:
    (found,) = matching("ji2024", "constants")
    (curve,) = matching("new_results", "r1.new.half")
    before = found.source_sha256, curve.source_sha256
    found.decided_alone()
    next(curve.check(curve.printed))
    assert (found.source_sha256, curve.source_sha256) == before


def test_a_statement_with_one_delta_for_seven_has_another_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverdict.proofs.andersson2024 import section5_2

    (found,) = matching("andersson2024", "lem5.4")
    before = found.source_sha256
    monkeypatch.setattr(section5_2, "DELTAS", section5_2.DELTAS[:1])
    assert found.source_sha256 != before


def test_the_hash_covers_the_formulas_of_the_mechanisms(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverdict.proofs.lebeda2024 import section3 as lebeda2024_section3

    found = next(s for s in statements("lebeda2024") if s.number == "lem3.1")
    before = found.verify().source_sha256
    assert found.verify().source_sha256 == before
    monkeypatch.setattr(lebeda2024_section3, "family_variances", lambda dim, c, mu: (dim, c))
    assert found.verify().source_sha256 != before
    assert found.verify().standing is not Standing.HOLDS
