"""The least noise at which a function keeps a claim: it is certified with it, and not with a little less."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.scales import needed_noise
from dpverdict.cli.application import main

TEXT = 'relation = "add-or-remove-one"\ntable = "pandas"\n[columns.age]\ntype = "int"\nlow = 0\nhigh = 120\n'
SCHEMA = TableSchema.from_toml(TEXT)
EDGES = list(range(0, 130, 10))


def total_and_count(first: float, second: float) -> Any:
    def function(df: Any, rng: np.random.Generator) -> Any:
        total = df["age"].clip(0, 90).sum() + rng.laplace(scale=first)
        return total, (df["age"] >= 65).sum() + rng.laplace(scale=second)

    return function


def histogram(scale: float) -> Any:
    def function(df: Any, rng: np.random.Generator) -> Any:
        return np.histogram(df["age"], bins=EDGES)[0] + rng.normal(scale=scale, size=len(EDGES) - 1)

    return function


def choice(factor: float) -> Any:
    def function(df: Any, rng: np.random.Generator) -> Any:
        scores = np.histogram(df["age"], bins=EDGES)[0]
        weights = np.exp(factor * (scores - scores.max()))
        return rng.choice(len(EDGES) - 1, p=weights / weights.sum())

    return function


def in_a_loop(df: Any, rng: np.random.Generator) -> Any:
    return [(df["age"] > limit).sum() + rng.laplace(scale=2) for limit in (20, 40, 60)]


def certified(function: Any, claim: str) -> bool:
    return certify_function(function, claim, schema=SCHEMA, search=0).status is Status.CERTIFIED


def test_each_line_by_itself_and_all_together() -> None:
    found = needed_noise(total_and_count(90.0, 2.0), "eps=1", schema=SCHEMA, name="f")
    assert [one.needed for one in found.lines] == ["scale at least 180", "no scale of this line alone is enough"]
    assert [one.factor for one in found.lines] == [2.0, None]
    assert found.factor == 1.5
    assert certified(total_and_count(180.0, 2.0), "eps=1")
    assert not certified(total_and_count(179.99, 2.0), "eps=1")
    assert certified(total_and_count(135.0, 3.0), "eps=1")
    assert not certified(total_and_count(134.99, 2.999), "eps=1")
    assert "line" in found.text()
    assert "all scales times 1.5 at least" in found.text()


def test_the_scale_of_gaussian_noise_for_epsilon_and_delta() -> None:
    claim = "eps=1, delta=1e-6"
    [line] = needed_noise(histogram(1.0), claim, schema=SCHEMA, name="f").lines
    assert line.needed == "scale at least 4.22468"  # the exact one is 4.224678889
    assert certified(histogram(4.22468), claim)
    assert not certified(histogram(4.22467), claim)


def test_noise_may_be_larger_than_needed_and_no_scale_may_be_enough() -> None:
    found = needed_noise(total_and_count(900.0, 10.0), "eps=1", schema=SCHEMA, name="f")
    assert found.factor is not None
    assert found.factor == 0.2
    assert found.exit_code == 0
    none = needed_noise(histogram(1.0), "eps=1", schema=SCHEMA, name="f")  # Gaussian noise has no epsilon
    assert (none.factor, none.exit_code) == (None, 3)


def test_scores_are_made_smaller() -> None:
    [line] = needed_noise(choice(2.0), "eps=1", schema=SCHEMA, name="f").lines
    assert line.needed == "the scores times at most 0.5"
    assert certified(choice(1.0), "eps=1")
    assert not certified(choice(1.0001), "eps=1")


def both_sides(df: Any, rng: np.random.Generator, scale: float = 1.0) -> Any:
    age = df["age"] / 120
    return age.sum() + rng.laplace(scale=scale), (1 - age).sum() + rng.laplace(scale=scale)


@pytest.mark.parametrize(("claim", "least"), [("eps=1", 1.0), ("eps=0.5", 2.0)])
def test_what_one_record_moves_together_counts(claim: str, least: float) -> None:
    """Line by line a record could move both sums by 1, so that each would need twice the scale."""
    found = needed_noise(both_sides, claim, schema=SCHEMA, name="f")
    assert found.factor == pytest.approx(least, rel=1e-6)
    assert certify_function(lambda df, rng: both_sides(df, rng, least), claim, schema=SCHEMA, search=0).status.name == (
        "CERTIFIED"
    )


def test_one_line_with_several_releases_is_scaled_as_one() -> None:
    found = needed_noise(in_a_loop, "eps=1", schema=SCHEMA, name="f")
    assert [one.needed for one in found.lines] == ["scale at least 3"]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(TEXT)
    (tmp_path / "seen.toml").write_text(TEXT + "observed = true\n")
    (tmp_path / "release.py").write_text(
        "def f(df, rng):\n    return df['age'].sum() + rng.laplace(scale=60)\n"
        "def g(df, rng):\n    return df['age'].max() + rng.laplace(scale=60)\n"
    )
    command = ["calibrate", "release.py:f", "--claim", "eps=1", "--schema"]
    assert main([*command, "s.toml"]) == 0
    assert "line 2: scale at least 120, in place of 60" in capsys.readouterr().out
    assert main([*command, "seen.toml"]) == 3
    assert "only observed" in capsys.readouterr().out
    assert main(["calibrate", "release.py:g", "--claim", "eps=1", "--schema", "s.toml"]) == 3
    assert "NOT COVERED" in capsys.readouterr().out
    assert main([*command, "s.toml", "--sensitivity", "1"]) == 2
    assert main(["calibrate", "laplace", "--claim", "eps=1", "--schema", "s.toml"]) == 2
