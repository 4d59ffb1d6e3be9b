"""A table is given to a function as the function takes it, is described, and what is no table gets one clear line."""

import html
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpverdict.audit import find_neighbours
from dpverdict.audit.documents.request import Request
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.implementation.search import table_search
from dpverdict.audit.implementation.search.code_constants import constants_of
from dpverdict.audit.implementation.search.given_table import releases_for, search_for, search_seconds, table_for
from dpverdict.audit.implementation.search.outcome_parts import telling_part
from dpverdict.audit.runs.request import audit_request
from dpverdict.audit.tables.column import Column
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.trials.journal import Journal, journalled_in
from dpverdict.audit.trials.outcomes.canonical import outcome_of, outcome_of_error
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import ADD_OR_REMOVE_ONE, REPLACE_ONE, GaussianDP, ObjectPair, PureDP

LIMIT = 25
RELEASE = """
import pandas as pd

def by_city(frame: pd.DataFrame, rng):
    return {city: count + rng.laplace() for city, count in frame.groupby("city").size().items()}
"""
COUNTING_ITS_CALLS = """
import pandas as pd

def total(table: pd.DataFrame, rng):
    with open("calls", "a") as file:
        file.write(".")
    return table.x.sum() + rng.laplace()
"""


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    made = pd.DataFrame(
        {
            "city": rng.choice(["Oslo", "Rome"], 60),
            "age": rng.integers(0, 90, 60),
            "pay": np.round(rng.lognormal(3, 1, 60), 2),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 60), "D"),
            "ok": rng.random(60) < 0.5,
        }
    )
    made.loc[5, "pay"] = np.nan
    made.loc[7, "city"] = "Bonn"
    return made


def of_pandas(table: pd.DataFrame, rng: object) -> None: ...
def of_polars(table: pl.DataFrame, rng: object) -> None: ...
def of_records(table: list[dict[str, object]], rng: object) -> None: ...
def of_array(table: np.ndarray[Any, Any], rng: object) -> None: ...
def of_anything(table, rng): ...  # type: ignore[no-untyped-def]


WRITERS: dict[str, Any] = {
    "t.csv": lambda table, path: table.to_csv(path, index=False),
    "t.parquet": lambda table, path: table.to_parquet(path),
    "t.feather": lambda table, path: table.to_feather(path),
    "t.jsonl": lambda table, path: table.to_json(path, orient="records", lines=True, date_format="iso"),
    "t.xlsx": lambda table, path: table.to_excel(path, index=False),
}


@pytest.mark.parametrize("function", [of_pandas, of_polars, of_records, of_anything])
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_any_format_is_what_it_was_written_from(name: str, function: Any, tmp_path: Path) -> None:
    WRITERS[name](frame(), tmp_path / name)
    found = table_for(function, str(tmp_path / name), adjacency=ADD_OR_REMOVE_ONE)
    assert [column.type for column in found.schema.columns] == ["category", "int", "float", "date", "bool"]
    assert [column.nullable for column in found.schema.columns] == [False, False, True, False, False]
    assert type(found.table).__module__.startswith("polars" if function is of_polars else "pandas")
    assert "city: category of 3 (Bonn, Oslo, Rome); age: int from" in found.describe()["taken for"]
    assert found.describe()["table"].startswith(str(tmp_path / name) + ": 60 records")


def test_a_frame_of_another_library_is_converted() -> None:
    found = table_for(of_polars, frame(), adjacency=REPLACE_ONE)
    assert isinstance(found.table, pl.DataFrame)
    assert found.schema.records == 60
    assert isinstance(table_for(of_array, frame()[["age", "pay"]], adjacency=REPLACE_ONE).table, np.ndarray)
    assert table_for(of_anything, [{"a": 1}, {"a": 2}], adjacency=REPLACE_ONE).received == "records"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("mixed.csv", "age,city\n" + "3,a\n" * 30 + "x,b\n", "record 30"),
        ("twice.csv", "a,a\n1,2\n", "one column only"),
        ("ragged.csv", "a,b\n1,2\n3\n", "2 entries in line 3"),
        ("latin.csv", b"a,b\n\xff\xfe,2\n", "UTF-8"),
        ("bare.csv", "a,b\n", "nothing below the header"),
        ("no.parquet", "no", "readable Parquet"),
        ("t.xls", "no", "a file of a table"),
    ],
)
def test_a_bad_table_gets_one_line(name: str, content: str | bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidValue, match=said) as failure:
        table_for(of_pandas, str(path), adjacency=ADD_OR_REMOVE_ONE)
    assert "\n" not in str(failure.value)


def test_what_is_missing_or_contradicts_is_said() -> None:
    with pytest.raises(InvalidValue, match="--adjacency"):
        table_for(of_pandas, frame(), adjacency=None)
    with pytest.raises(InvalidValue, match="one of the columns city"):
        table_for(of_pandas, frame(), adjacency=ADD_OR_REMOVE_ONE, user="who")
    with pytest.raises(InvalidValue, match="it has none"):
        table_for(of_pandas, frame().iloc[:0], adjacency=ADD_OR_REMOVE_ONE)
    for text in ("x", "0", "nan", "1e9"):
        with pytest.raises(InvalidValue, match="seconds"):
            search_seconds(text)


def test_a_command_finds_the_group_of_one_and_keeps_its_error_probability(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.py").write_text(RELEASE)
    frame().to_csv("t.csv", index=False)
    asked = Request(
        mechanism="release.py:by_city",
        data="t.csv",
        claim="eps=1",
        options={"adjacency": "add-or-remove-one"},
        search_time="2",
        samples="600",
        seed="1",
        error_probability="1e-5",
    )
    report = audit_request(asked)
    assert report.status is Status.REFUTED
    assert report.parameters["the neighbours"].startswith("row 7 removed: city=Bonn")
    assert "'Bonn'" in report.parameters["what tells them apart"]
    assert report.parameters["error probability"].startswith("1e-5 for the whole command")
    assert report.test is not None
    assert report.test.error_probability == 0.5e-5


def test_the_constants_of_a_function_are_those_of_what_it_calls() -> None:
    def inner(table: Any) -> Any:
        return table[table["age"] > 65].astype(np.int16)

    def outer(table: Any, rng: Any) -> Any:
        return {city: inner(table) for city in ("Lima", "Bonn")} if len(table) > LIMIT else 0.5

    assert {65, 25, "Lima", "Bonn", 0.5, "int16"} <= set(constants_of(outer))


def test_the_part_that_tells_is_named_as_the_user_wrote_it() -> None:
    pair = ObjectPair(dataset=[1, 2], neighbour=[1], adjacency=ADD_OR_REMOVE_ONE)

    def part(one: Any, other: Any) -> str:
        def function(table: list[int], rng: object) -> Any:
            value = one if len(table) == 2 else other
            if isinstance(value, Exception):
                raise value
            return value

        rows = tuple(
            [outcome_of_error(side) if isinstance(side, Exception) else outcome_of(side)] * 9 for side in (one, other)
        )
        found = telling_part(function, pair, rows, PureDP(1), 1)  # type: ignore[arg-type]  # a pair of lists
        assert bool(found.words) == bool(found.change)
        return found.words

    assert part({"n": {"rare": 5.0}}, {"n": {"rare": 1.0}}) == 'result["n"]["rare"]: 5 against 1'
    assert part(pd.Series([1.0, 7.0], index=["a", "b"]), pd.Series([1.0, 2.0], index=["a", "b"])).startswith(
        'result["b"]'
    )
    assert "column pay of the result, row 1" in part(
        pd.DataFrame({"pay": [1.0, 7.0]}), pd.DataFrame({"pay": [1.0, 2.0]})
    )
    assert part(ValueError("no rows"), 3.0) == "the exception ValueError: no rows, on the larger table"
    assert part([1.0, 2.0], [1.0]) == "the length of the result: 2 against 1"
    assert part(float("nan"), 2.0) == "the number that is returned, which is nan on the larger table"
    assert part(2.0, 2.0) == ""


@pytest.mark.parametrize(
    ("scales", "move", "claim", "wraps", "said"),
    [
        ((1.0, 1.0), 3.0, PureDP("0.5"), False, "Laplace noise of scale 6"),
        ((1.0, 1.0), 3.0, GaussianDP(2), False, "Gaussian noise of standard deviation 1.5"),
        ((1.0, 1.0), 3.0, PureDP(1), True, "wider type"),
        ((9.0, 1.0), 30.0, PureDP(1), False, "fix the scale of the noise beforehand"),
        ((1.0, 0.0), 3.0, PureDP(1), False, "add noise"),
    ],
)
def test_what_to_change_follows_from_how_the_number_moves(
    scales: tuple[float, float], move: float, claim: Any, wraps: bool, said: str
) -> None:
    spread = np.linspace(-1, 1, 401)
    rows = tuple(
        [outcome_of(float(at + scale * x)) for x in spread] for at, scale in zip((move, 0.0), scales, strict=True)
    )
    pair = ObjectPair(dataset=[1, 2], neighbour=[1], adjacency=ADD_OR_REMOVE_ONE)
    found = telling_part(lambda table, rng: 1.0, pair, rows, claim, 1, wraps=wraps)  # type: ignore[arg-type]
    assert said in found.change


def test_a_pair_that_tells_clearly_is_tested_on_fewer_releases() -> None:
    class Found:
        statistic = 0.1
        release_seconds = 1e-5

    found: Any = Found()
    assert releases_for(found) == 20_000
    found.statistic = 3.0
    assert releases_for(found) == 4_000
    found.release_seconds = 1.0
    assert releases_for(found) == 60


def test_a_move_beyond_all_that_losses_are_made_for_does_not_end_the_search() -> None:
    def oldest(table: np.ndarray[Any, Any], rng: np.random.Generator) -> Any:
        return np.array([table.max() if len(table) else 0.0]) + rng.laplace(scale=5, size=1)

    table = np.array([20.0, 31.0, 44.0])
    found = find_neighbours(oldest, "eps=1", data=table, adjacency=ADD_OR_REMOVE_ONE, seed=1, most=40)
    assert found.followed == found.measured == 40
    assert found.promising


def test_a_search_that_was_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    def counted(table: pd.DataFrame, rng: np.random.Generator) -> float:
        return len(table) + rng.laplace(scale=2)

    told: list[int] = []

    def stopping(said: str) -> None:
        if said.startswith("search of neighbours: ") and " measured" in said:
            told.append(int(said.split()[3]))
            if len(told) == 1:
                raise KeyboardInterrupt

    given = table_for(counted, frame(), adjacency=ADD_OR_REMOVE_ONE)
    with journalled_in(Journal(tmp_path / "kept")):
        with pytest.raises(KeyboardInterrupt):
            search_for(counted, PureDP(1), given, seed=1, most=40, watch=stopping)
        again = search_for(counted, PureDP(1), given, seed=1, most=40, watch=stopping)
    straight = search_for(counted, PureDP(1), given, seed=1, most=40)
    assert told[0] == 16 < told[1]
    assert (again.measured, again.words, again.statistic) == (straight.measured, straight.words, straight.statistic)


def test_a_search_that_is_interrupted_in_a_notebook_takes_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(table: pd.DataFrame, rng: np.random.Generator) -> float:
        return len(table) + rng.laplace(scale=2)

    def stopping(said: str) -> None:
        if " measured" in said:
            raise KeyboardInterrupt

    told: list[str] = []
    monkeypatch.setattr(table_search, "in_a_notebook", lambda: True)
    monkeypatch.setattr(table_search, "say_in_a_notebook", told.append)
    given = table_for(counted, frame(), adjacency=ADD_OR_REMOVE_ONE)
    found = search_for(counted, PureDP(1), given, seed=1, most=400, watch=stopping)
    assert (found.interrupted, found.finished, found.measured, found.run) == (True, False, 16, 1)
    assert told == ["Interrupted: the best of 16 pairs that were measured is taken."]
    assert "until it was interrupted" in found.describe()
    assert "distinguish(found.function" in found._repr_html_()
    assert found.words in html.unescape(found._repr_html_())


def test_where_the_time_is_over_before_a_pair_was_measured_some_are_all_the_same(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """To read and look at a table of a million rows may take all the time that there is."""
    monkeypatch.setattr(table_search, "MEASURING", 0.0)
    frame = pd.DataFrame({"city": ["Oslo"] * 20 + ["Bonn"]})

    def count(df: pd.DataFrame, rng: np.random.Generator) -> float:
        return len(df) + rng.laplace()

    found = find_neighbours(count, "eps=1", data=frame, adjacency=ADD_OR_REMOVE_ONE, seed=seed)
    assert found.words
    assert found.measured >= 1


def test_an_interrupt_tells_the_best_pair_so_far(tmp_path: Path) -> None:
    """A signal as Ctrl-C sends it, to a command whose output goes to no terminal."""
    table = "x\n" + "".join(f"{i % 7}\n" for i in range(30))
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    (tmp_path / "f.py").write_text(COUNTING_ITS_CALLS, encoding="utf-8")
    command = [sys.executable, "-m", "dpverdict.cli", "audit", "f.py:total", "--data", "t.csv", "--adjacency",
               "add-or-remove-one", "--claim", "eps=1", "--search-time", "300", "--seed", "1"]  # fmt: skip
    running = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # who runs tests in the background ignores it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    calls = tmp_path / "calls"
    while running.poll() is None and not (calls.exists() and calls.stat().st_size > 200):  # beyond the first pairs
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    printed, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert printed == ""
    assert said.startswith("interrupted (search of neighbours: ")
    assert "best so far: " in said
    assert "nothing is tested yet" in said


@pytest.mark.parametrize("relation", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
def test_the_columns_of_an_array_have_the_names_of_its_schema(relation: Any, seed: int) -> None:
    """A column without a gap that may have one: the missing entry is found, and named as the schema does."""

    def clipped(table: np.ndarray[Any, Any], rng: np.random.Generator) -> float:
        return float(np.clip(table[:, 1], 0, 100).sum() + rng.laplace(scale=100))

    columns = (
        Column(name="age", type="float", low=Fraction(0), high=Fraction(100)),
        Column(name="amount", type="float", low=Fraction(0), high=Fraction(100), nullable=True),
    )
    schema = TableSchema(relation=relation, table="numpy", columns=columns)
    table = np.random.default_rng(1).uniform(0, 100, (40, 2))
    found = find_neighbours(clipped, "eps=1", data=table, schema=schema, seed=seed, most=120)
    assert found.promising
    assert "amount=(missing)" in found.words
    assert "nan" in found.part


def test_the_user_column_of_an_array_is_one_of_its_schema(seed: int) -> None:
    columns = tuple(Column(name=name, type="float") for name in ("person", "amount"))
    schema = TableSchema(relation=ADD_OR_REMOVE_ONE, table="numpy", columns=columns)
    table = np.repeat(np.arange(20.0), 6).reshape(-1, 2)

    def counted(table: np.ndarray[Any, Any], rng: np.random.Generator) -> float:
        return len(table) + rng.laplace()

    found = find_neighbours(counted, "eps=1", data=table, schema=schema, user="person", seed=seed, most=20)
    assert found.promising
    assert found.words.startswith("all 3 records of person=")


@pytest.mark.parametrize("relation", [ADD_OR_REMOVE_ONE, REPLACE_ONE])
def test_the_records_of_a_user_are_left_out_or_exchanged_together(relation: Any, seed: int) -> None:
    table = frame().assign(person=np.arange(60) // 4)

    def counts(table: pd.DataFrame, rng: np.random.Generator) -> Any:
        return table["city"].value_counts().reindex(["Bonn", "Oslo", "Rome"], fill_value=0) + rng.laplace(size=3)

    found = find_neighbours(counts, "eps=2", data=table, adjacency=relation, user="person", seed=seed, most=30)
    assert found.promising
    assert found.words.startswith("all 4 records of person=")
    assert (len(found.pair.dataset) == len(found.pair.neighbour)) == (relation is REPLACE_ONE)


@pytest.mark.parametrize("given", ["file", "frame"])
def test_an_array_of_a_table_keeps_the_names_of_its_columns(given: str, tmp_path: Path) -> None:
    """They are those of the file or the frame, as the user column and the finding name them."""
    table = pd.DataFrame({"player": [1, 1, 2, 3], "points": [5, 7, 2, 9]})
    path = tmp_path / "points.csv"
    table.to_csv(path, index=False)
    made = table_for(of_array, str(path) if given == "file" else table, adjacency=ADD_OR_REMOVE_ONE, user="player")
    assert [column.name for column in made.schema.columns] == ["player", "points"]
    assert (made.schema.user, made.schema.table) == ("player", "numpy")
    assert isinstance(made.table, np.ndarray)
    with pytest.raises(InvalidValue, match="one of the columns player, points"):
        table_for(of_array, str(path), adjacency=ADD_OR_REMOVE_ONE, user="players")
