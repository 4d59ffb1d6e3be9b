# ruff: noqa: E501

"""Random programs of pandas and polars over the operations that tracing covers; pairs are measured as those of NumPy.

Statistics, what is made of them and the noise are those of `tracing_programs.py`; here are the frames: columns of
numbers, categories, dates and truth values, masks, selections, groups, tables that are joined.
"""

import datetime
import sys
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl

from dpverdict.audit.tables.column import Column
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE

sys.path.insert(0, str(Path(__file__).parent))
from tracing_programs import RECORDS, Program

CITIES, SEXES = ("Bonn", "Oslo", "Rome"), ("f", "m")
DAYS = ("2023-11-05", "2024-02-29", "2024-03-01", "2024-12-31")


def random_frame_schema(rng: np.random.Generator, *, replace: bool, table: str) -> TableSchema:
    """Two columns of whole numbers, one of floats, two of categories, one of truth values and one of dates."""

    def whole() -> tuple[float, float]:
        low, high = sorted(rng.choice([-4, -1, 0, 1, 3, 9], size=2, replace=False).tolist())
        return low, high

    def nullable(share: float = 0.3) -> bool:
        return bool(rng.random() < share)

    age, visits = whole(), whole()
    low, high = sorted(rng.choice([-5.0, -1.0, 0.0, 0.5, 2.0, 10.0], size=2, replace=False).tolist())
    bounded = rng.random() < 0.8
    first, last = sorted(
        rng.choice(["2023-11-01", "2024-01-01", "2024-03-01", "2024-12-31"], size=2, replace=False).tolist()
    )
    days = [datetime.date.fromisoformat(one) for one in (first, last)]
    columns = (
        Column(name="age", type="int", low=age[0], high=age[1]),
        Column(name="visits", type="int", low=visits[0], high=visits[1], nullable=nullable()),
        Column(name="pay", type="float", low=low if bounded else None, high=high if bounded else None, nullable=nullable()),
        Column(name="city", type="category", values=CITIES[: int(rng.integers(2, 4))], nullable=nullable()),
        Column(name="sex", type="category", values=SEXES),
        Column(name="ok", type="bool"),
        Column(name="day", type="date", low=days[0], high=days[1], nullable=nullable(0.2)),
    )  # fmt: skip
    relation = REPLACE_ONE if replace else ADD_OR_REMOVE_ONE
    return TableSchema(relation=relation, table=table, columns=columns, records=RECORDS if replace else None)  # type: ignore[arg-type]


def pandas_schema(rng: np.random.Generator, *, replace: bool) -> TableSchema:
    return random_frame_schema(rng, replace=replace, table="pandas")


def polars_schema(rng: np.random.Generator, *, replace: bool) -> TableSchema:
    return random_frame_schema(rng, replace=replace, table="polars")


class FrameProgram(Program):
    """What programs of pandas and polars share: frames that are selections of the table, and texts of their columns.

    A text of a column names no frame in polars, and its frame in pandas: `at` puts it there.
    """

    table = "df"

    def _build(self) -> None:
        self.frame = "df"
        for _ in range(int(self.rng.integers(1, 4))):
            if self.rng.random() < 0.4:
                self.select()
            self.make_row()
            if self.rng.random() < 0.6:
                self.make_mask()
            self.make_statistic()
        for _ in range(int(self.rng.integers(0, 4))):
            self.change_statistic()
        for _ in range(int(self.rng.integers(1, 4))):
            self.release()

    def select(self) -> None:
        """From here on a selection of the records; what was made of columns of the frame before is left behind."""
        self.frame = self.let(self._selected())
        self.rows, self.masks = [], []

    def _selected(self) -> str:
        raise NotImplementedError

    def whole_row(self) -> str:
        return self._column(self.pick(["age", "age", "visits"]))

    def row(self) -> str:
        if not self.rows or self.rng.random() < 0.5:
            return self._column(self.pick(["age", "visits", "pay", "pay"]))
        return str(self.pick(self.rows))

    def mask(self) -> str:
        if not self.masks:
            self.make_mask()
        return str(self.pick(self.masks))

    def _column(self, name: str) -> str:
        raise NotImplementedError

    def labels(self) -> tuple[str, str, int]:
        """A column of categories, the text of a public list of labels, and how many they are."""
        name, all_labels = self.pick([("city", CITIES), ("sex", SEXES)])
        some = [str(one) for one in self.rng.permutation(all_labels)[: int(self.rng.integers(2, len(all_labels) + 1))]]
        return name, repr(some), len(some)

    def means_are_public(self) -> bool:
        """Whether a mean is taken: now and then, where nobody is left out of a public number of records."""
        return self.replace and self.frame == "df" and bool(self.rng.random() < 0.1)

    def give(self, text: str, size: int) -> None:
        self.vectors.append((self.let(text), size))


class PandasProgram(FrameProgram):
    """A random program of pandas."""

    modules = MappingProxyType(
        {"np": np, "pd": pd, "PRICES": pd.DataFrame({"city": list(CITIES), "price": [1.0, -2.0, 4.0]})}
    )

    def _column(self, name: str) -> str:
        return f"{self.frame}['{name}']"

    def _selected(self) -> str:
        f, c = self.frame, self.number()
        return str(self.pick([
            lambda: f"{f}[{self.mask()}]", lambda: f"{f}.loc[{self.mask()}]", lambda: f"{f}.query('age > {int(c)}')",
            lambda: f"{f}.dropna(subset=['pay'])", lambda: f"{f}.dropna()", lambda: f"{f}[{f}['city'] == 'Oslo']",
            lambda: f"{f}.query(\"age <= {int(c)} {self.pick(['and', '&', 'or', '|'])} sex == 'f'\")", lambda: f"{f}.dropna(subset=['day', 'visits'])",
            lambda: f"{f}.assign(age={f}['age'].clip(0, {abs(int(c)) + 1}))", lambda: f"{f}.fillna({{'pay': {c}, 'visits': 2}})",
        ])())  # fmt: skip

    def _bounded(self, row: str) -> str:
        low, high = sorted([self.number(), self.number() + 2])
        return str(self.pick([
            f"{row}.fillna({self.number()}).clip({low}, {high})", f"{row}.clip({low}, {high}).fillna({self.number()})",
            f"{row}.clip(lower={low}, upper={high})", f"np.clip({row}.fillna(0), {low}, {high})",
        ]))  # fmt: skip

    def make_row(self) -> None:
        a, b, c, d = self.row(), self.row(), self.number(), self.positive()
        low, high = sorted([self.number(), self.number() + 3])
        f = self.frame
        found = self.pick([
            lambda: f"{a}.clip({low}, {high})", lambda: f"{a} + {b}", lambda: f"{a} - {b}", lambda: f"{a} * {b}",
            lambda: f"{a} * {c}", lambda: f"{c} - {a}", lambda: f"{a} / {d}", lambda: f"{a}.abs()", lambda: f"-{a}",
            lambda: f"{a} ** 2", lambda: f"np.sqrt({a}.abs())", lambda: f"np.log1p({a}.abs())", lambda: f"np.tanh({a})",
            lambda: f"np.floor({a})", lambda: f"{a}.fillna({c})", lambda: f"{a}.where({self.mask()}, {c})",
            lambda: f"{a}.mask({self.mask()}, {c})", lambda: f"{a} * {self.mask()}", lambda: f"{a}.round(1)",
            lambda: f"{a} % {d}", lambda: f"{a} // {d}", lambda: f"{a}.add({b})", lambda: f"{a}.mul({c})",
            lambda: f"{f}['city'].map({{'Bonn': 1.5, 'Oslo': {c}, 'Rome': -1.0}})", lambda: f"{a}.astype(float)",
            lambda: f"{f}['sex'].map({{'f': 0, 'm': {int(c)}}})", lambda: f"{f}['day'].dt.month", lambda: f"{f}['day'].dt.weekday",
            lambda: f"pd.cut({f}['age'], [-9, 0, 2, 99], labels=False)", lambda: f"{f}['ok'].astype(int)",
            lambda: f"{f}[['age', 'visits']].sum(axis=1)", lambda: f"np.maximum({a}, {c})",
            lambda: f"{f}['age'] * np.where({self.mask()}, {f}['age'], {c})", lambda: f"{f}['day'].dt.year - 2023",
            lambda: f"{a}.sub({c}).div({d})", lambda: f"({a} > {c}).astype(float)",
        ])()  # fmt: skip
        self.rows.append(self.let(found))

    def make_mask(self) -> None:
        a, c = self.row(), self.number()
        sign = self.pick(["<", "<=", ">", ">=", "==", "!="])
        day, other = self.pick(DAYS), self.pick(CITIES)
        f = self.frame
        known = self.masks and self.rng.random() < 0.5
        found = self.pick([
            lambda: f"~{self.mask()}" if known else f"{f}['ok']", lambda: f"{a} {sign} {c}", lambda: f"{c} {sign} {a}",
            lambda: f"{self.mask()} & {self.mask()}" if known else f"{f}['age'] {sign} {int(c)}",
            lambda: f"{self.mask()} | {self.mask()}" if known else f"{f}['city'] == '{other}'",
            lambda: f"{f}['city'] != '{other}'", lambda: f"{f}['city'].isin(['{other}', 'Oslo'])", lambda: f"{f}['sex'] == 'm'",
            lambda: f"{f}['age'].between({int(c)}, {int(c) + 2})", lambda: f"{a}.isna()", lambda: f"{a}.notna()",
            lambda: f"{f}['day'] {sign} '{day}'", lambda: f"{f}['day'].dt.month == {int(self.rng.integers(1, 13))}",
            lambda: f"{f}['visits'].isin([0, {int(c)}])", lambda: f"{f}['city'].isna()", lambda: f"{a}.gt({c})",
            lambda: f"{f}['day'].between('2024-01-01', '{day}')" if day > "2024" else f"{f}['day'].notna()",
        ])()  # fmt: skip
        self.masks.append(self.let(found))

    def make_statistic(self) -> None:
        a, b, f = self.row(), self.row(), self.frame
        name, labels, size = self.labels()
        m = self.mask()
        if self.means_are_public():
            return self.give(f"np.array([{self._bounded(a)}.mean(), {m}.mean()])", 2)
        fill = f".reindex({labels}, fill_value=0).to_numpy() * 1.0"
        both = f".reindex(index={list(CITIES)}, columns=['f', 'm'], fill_value=0).to_numpy().ravel() * 1.0"
        text, size = self.pick([
            (lambda: (f"np.array([{self._bounded(a)}.sum(), {m}.sum()], dtype=float)", 2)),
            (lambda: (f"np.array([{self._bounded(a)}[{m}].sum(), {self._bounded(b)}[~{m}].sum()], dtype=float)", 2)),
            (lambda: (f"np.array([len({f}), {self._column('pay')}.count()], dtype=float)", 2)),
            (lambda: (f"np.array([{f}.shape[0], len({f}[{m}])], dtype=float)", 2)),
            (lambda: (f"{f}['{name}'].value_counts()" + fill, size)),
            (lambda: (f"{f}['{name}'][{m}].value_counts()" + fill, size)),
            (lambda: (f"{f}.groupby('{name}').size()" + fill, size)),
            (lambda: (f"{f}.groupby('{name}')['age'].sum()" + fill, size)),
            (lambda: (f"{f}.groupby('{name}')['visits'].count()" + fill, size)),
            (lambda: (f"{f}[{m}].groupby('{name}')['age'].sum()" + fill, size)),
            (lambda: (f"{f}.assign(z={self._bounded(a)}).groupby('{name}')['z'].sum()" + fill, size)),
            (lambda: (f"{f}.groupby('{name}').agg(n=('age', 'size'), s=('age', 'sum')).reindex({labels}, fill_value=0)"
                      f"['{self.pick('ns')}'].to_numpy() * 1.0", size)),
            (lambda: (f"pd.crosstab({f}['city'], {f}['sex'])" + both, 6)),
            (lambda: (f"{f}.pivot_table(index='city', columns='sex', values='age', aggfunc='{self.pick(['count', 'sum'])}', "
                      f"fill_value=0)" + both, 6)),
            (lambda: (f"pd.cut({f}['age'], [-9, 0, 2, 99]).value_counts(sort=False).to_numpy() * 1.0", 3)),
            (lambda: (f"{f}.groupby(pd.cut({f}['age'], [-9, 0, 2, 99]), observed=False)['age'].sum().to_numpy() * 1.0", 3)),
            (lambda: (f"{f}.groupby({f}['day'].dt.month)['age'].sum().reindex([3, 11, 12], fill_value=0).to_numpy() * 1.0", 3)),
            (lambda: (f"np.histogram({f}['age'], bins=[-9, 0, 2, 99])[0] * 1.0", 3)),
            (lambda: (f"np.bincount({f}['age'].clip(0, 3), minlength=4) * 1.0", 4)),
            (lambda: (f"{f}[['age', 'ok']].sum().to_numpy(dtype=float)", 2)),
            (lambda: (f"pd.get_dummies({f}['{name}']).reindex(columns={labels}, fill_value=0).sum().to_numpy() * 1.0", size)),
            (lambda: (f"np.array([{f}.merge(PRICES, on='city')['price'].sum(), {f}['age'].sum()])", 2)),
            (lambda: (f"{f}['{name}'].value_counts().reindex({labels}).fillna(0).to_numpy()", size)),
            (lambda: (f"np.array([({f}['{name}'] == one).sum() for one in {labels}], dtype=float)", size)),
            (lambda: (f"{f}['visits'].value_counts().reindex(range(3), fill_value=0).to_numpy() * 1.0", 3)),
            (lambda: (f"{f}.agg({{'age': 'sum', 'visits': 'count'}}).to_numpy(dtype=float)", 2)),
        ])()  # fmt: skip
        return self.give(text, size)


class PolarsProgram(FrameProgram):
    """A random program of polars."""

    modules = MappingProxyType({"np": np, "pl": pl})

    def let(self, text: str) -> str:
        """Expressions stand where they are used, as the columns that they name are those of the frame there."""
        if text.startswith(("pl.col", "(pl.", "pl.when", "(~", "(-")):
            return text
        return super().let(text)

    def _column(self, name: str) -> str:
        return f"pl.col('{name}')"

    def _selected(self) -> str:
        f, c = self.frame, self.number()
        return str(self.pick([
            lambda: f"{f}.filter({self.mask()})", lambda: f"{f}.filter(pl.col('age') > {int(c)}, pl.col('ok'))",
            lambda: f"{f}.drop_nulls('visits')", lambda: f"{f}.drop_nulls()", lambda: f"{f}.filter(city='Oslo')",
            lambda: f"{f}.with_columns(age=pl.col('age').clip(0, {abs(int(c)) + 1}))",
            lambda: f"{f}.lazy().filter({self.mask()}).collect()", lambda: f"{f}.with_columns(pl.col('visits').fill_null(2))",
        ])())  # fmt: skip

    def _bounded(self, row: str) -> str:
        low, high = sorted([self.number(), self.number() + 2])
        return f"{row}.cast(pl.Float64).fill_null({self.number()}).fill_nan({self.number()}).clip({low}, {high})"

    def _kept(self, row: str) -> str:
        return row if len(row) < 400 else "pl.col('age')"

    def make_row(self) -> None:
        a, b, c, d = self.row(), self.row(), self.number(), self.positive()
        low, high = sorted([self.number(), self.number() + 3])
        full = f"{a}.fill_null({c})"
        found = self.pick([
            lambda: f"({a}.clip({low}, {high}))", lambda: f"({a} + {b})", lambda: f"({a} - {b})", lambda: f"({a} * {b})",
            lambda: f"({a} * {c})", lambda: f"(pl.col('age') - {c})", lambda: f"({a} / {d})", lambda: f"({a}.abs())",
            lambda: f"(-{a})", lambda: f"({a}.cast(pl.Float64) ** 2)", lambda: f"({a}.abs().sqrt())", lambda: f"({a}.abs().log1p())",
            lambda: f"({a}.tanh())", lambda: f"({a}.floor())", lambda: f"({full})", lambda: f"({full}.cast(pl.Float64))",
            lambda: f"pl.when({self.mask()}).then({a}).otherwise({c})", lambda: f"pl.when({self.mask()}).then({b}).otherwise({a})",
            lambda: f"({a}.round(1))", lambda: f"({a} % {d})", lambda: f"({a} // {d})", lambda: f"({a}.sign())",
            lambda: f"({a}.sin())", lambda: "(pl.col('age').pow(2))", lambda: "(pl.col('day').dt.month().cast(pl.Int64))", lambda: "(pl.col('day').dt.weekday().cast(pl.Int64))",
            lambda: f"(pl.col('sex').replace_strict({{'f': 0, 'm': {int(c)}}}))", lambda: "(pl.col('ok').cast(pl.Int64))",
            lambda: f"(pl.col('city').replace_strict({{'Bonn': 1.5, 'Oslo': {c}}}, default=0.5))",
            lambda: "(pl.col('day').dt.year().cast(pl.Int64) - 2023)",
        ])()  # fmt: skip
        self.rows.append(self._kept(found))

    def make_mask(self) -> None:
        a, c = self.row(), self.number()
        sign = self.pick(["<", "<=", ">", ">=", "==", "!="])
        year, month, day = map(int, self.pick(DAYS).split("-"))
        other = self.pick(CITIES)
        full = f"{a}.fill_null({c})"
        known = self.masks and self.rng.random() < 0.5
        found = self.pick([
            lambda: f"(~{self.mask()})" if known else "(pl.col('ok'))",
            lambda: f"({self.mask()} & {self.mask()})" if known else f"(pl.col('age') {sign} {int(c)})",
            lambda: f"({self.mask()} | {self.mask()})" if known else f"({full} {sign} {c})",
            lambda: f"({full} {sign} {c})", lambda: f"(pl.col('city') {self.pick(['==', '!='])} '{other}')",
            lambda: f"(pl.col('visits') {sign} {int(c)})", lambda: f"(pl.col('city').is_in(['{other}']))", lambda: "(pl.col('sex') == 'm')",
            lambda: f"(pl.col('sex').is_in(['m', '{other}']))", lambda: f"(pl.col('age').is_between({int(c)}, {int(c) + 2}, closed='{self.pick(['both', 'left', 'right', 'none'])}'))",
            lambda: f"(pl.col('age') {sign} {int(c)})", lambda: "(pl.col('visits').is_null())", lambda: "(pl.col('pay').is_not_null())",
            lambda: f"(pl.col('day') {sign} pl.date({year}, {month}, {day}))", lambda: f"(pl.col('day').dt.month() == {int(self.rng.integers(1, 13))})",
            lambda: f"(pl.col('age').cut([0, 2], labels=['a', 'b', 'c']) == '{self.pick('abc')}')",
        ])()  # fmt: skip
        self.masks.append(found if len(found) < 300 else "(pl.col('ok'))")

    def make_statistic(self) -> None:
        a, b, f = self.row(), self.row(), self.frame
        name, labels, size = self.labels()
        m = self.mask()
        if self.means_are_public():
            return self.give(
                f"np.array([{f}.select({self._bounded(b)}.mean()).item(), {f}.select({m}.mean()).item()])", 2
            )

        def by(counts: str) -> tuple[str, int]:
            joined = (
                f"pl.DataFrame({{'{name}': {labels}}}).join({counts}, on='{name}', how='left', maintain_order='left')"
            )
            return f"{joined}.fill_null(0)['n'].cast(pl.Float64).to_numpy()", size

        pairs = "pl.DataFrame({'city': ['Bonn', 'Bonn', 'Oslo', 'Oslo'], 'sex': ['f', 'm', 'f', 'm']})"
        text, size = self.pick([
            (lambda: (f"{f}.select({self._bounded(a)}.sum().alias('a'), {m}.sum().cast(pl.Float64).alias('b')).to_numpy()[0]", 2)),
            (lambda: (f"np.array([{f}.select({self._bounded(a)}.sum()).item(), {f}.filter({m}).height], dtype=float)", 2)),
            (lambda: (f"np.array([{f}.height, len({f}.filter(~{m}))], dtype=float)", 2)),
            (lambda: (f"np.array([{f}.select(pl.col('visits').count().cast(pl.Float64)).item(), {f}.select(pl.len().cast(pl.Float64)).item()])", 2)),
            (lambda: by(f"{f}.group_by('{name}').len('n')")),
            (lambda: by(f"{f}.group_by('{name}').agg(n=pl.col('age').sum())")),
            (lambda: by(f"{f}.group_by('{name}').agg(n={self._bounded(a)}.sum())")),
            (lambda: by(f"{f}.group_by('{name}').agg(n={m}.sum())")),
            (lambda: by(f"{f}.group_by('{name}').agg(n=pl.col('visits').count())")),
            (lambda: by(f"{f}['{name}'].value_counts(name='n')")),
            (lambda: by(f"{f}.filter({m}).lazy().group_by('{name}').agg(n=pl.len()).collect()")),
            (lambda: (f"{pairs}.join({f}.group_by('city', 'sex').len('n'), on=['city', 'sex'], how='left', maintain_order='left')"
                      ".fill_null(0)['n'].cast(pl.Float64).to_numpy()", 4)),
            (lambda: (f"pl.DataFrame({{'m': [3, 11, 12]}}, schema={{'m': pl.Int8}}).join({f}.group_by(m=pl.col('day').dt.month()).len('n'), "
                      "on='m', how='left', maintain_order='left').fill_null(0)['n'].cast(pl.Float64).to_numpy()", 3)),
            (lambda: (f"np.histogram({f}['age'].to_numpy(), bins=[-9, 0, 2, 99])[0] * 1.0", 3)),
            (lambda: (f"np.bincount({f}['age'].to_numpy().clip(0, 3), minlength=4) * 1.0", 4)),
            (lambda: (f"np.array([({f}['{name}'] == one).sum() for one in {labels}], dtype=float)", size)),
            (lambda: (f"{f}.select(pl.col('age', 'visits').fill_null(1).clip(0, 3).sum()).to_numpy()[0] * 1.0", 2)),
            (lambda: (f"np.atleast_1d({f}['age'].clip(0, 3).sum() * 1.0)", 1)),
        ])()  # fmt: skip
        return self.give(text, size)
