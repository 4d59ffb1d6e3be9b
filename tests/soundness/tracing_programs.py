"""Random programs over the operations that tracing covers, and the loss of one pair, measured by running them plainly.

A program is the text of a function of NumPy (those of pandas and polars are in `frame_programs.py`). It is followed as
a user's function is; and it is run as it stands, on two neighbouring tables, with a generator whose noise is 0 and
which notes law and scale of every draw. What differs between the two outcomes is how far the statistics moved, so the
loss of the pair is known without any of the rules.
"""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.tables.column import Column
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.losses.spent import Spent
from dpverdict.audit.tracing.rules import joint
from dpverdict.audit.tracing.rules.facts import MIXED
from dpverdict.audit.tracing.run import followed
from dpverdict.audit.tracing.search.moves import widest_pairs
from dpverdict.audit.tracing.spending import alternatives, jointly
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE

RECORDS = 5
ROUNDING = 1e-9
"""Of sums of a few float64 numbers: what a measured move may be above the true one, relative to what was summed."""


class Scaled(np.ndarray):
    """Noise 0 that notes a factor before it."""

    draws: Any

    def __rmul__(self, factor: Any) -> Any:
        law, scale = self.draws.pop()
        self.draws.append((law, scale * factor))
        return np.zeros(self.shape)


class Zero:
    """A generator whose noise is 0, and that notes what was asked for."""

    def __init__(self) -> None:
        self.draws: list[tuple[str, Any]] = []
        self.halves = 0

    def _draw(self, law: str, loc: Any, scale: Any, size: Any) -> Any:
        shape = np.broadcast_shapes(np.shape(loc), np.shape(scale)) if size is None else size
        self.draws.append((law, np.broadcast_to(scale, shape)))
        found = np.asarray(np.zeros(shape) + loc).view(Scaled)
        found.draws = self.draws
        return found

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw("laplace", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._draw("gaussian", loc, scale, size)

    def multivariate_normal(self, mean: Any, cov: Any) -> Any:
        """Draws that depend on each other: the covariance is noted."""
        self.draws.append(("correlated", np.asarray(cov, dtype=float)))
        return np.zeros(len(cov)) + mean

    def exponential(self, scale: Any, size: Any) -> Any:
        """One of two draws, of which the difference is Laplace noise: the first is noted."""
        self.halves += 1
        if self.halves % 2:
            return self._draw("laplace", 0.0, scale, size)
        return np.zeros(size)

    def random(self, size: Any) -> Any:
        """Every record is in the sample."""
        return np.zeros(size)

    def choice(self, count: int, p: Any) -> Any:
        self.draws.append(("choice", 1.0))
        return np.log(np.where(p > 1e-250, p, np.nan))  # what underflows is no probability of the law that is meant


class Program:
    """A random program; its text is made of a generator of random numbers.

    Args:
        rng: the generator.
        replace: whether neighbours differ by a replaced record, so that the number of records is public.
        samples: whether statistics of Poisson samples may stand in it.
    """

    table = "x"
    modules: Mapping[str, Any] = MappingProxyType({"np": np})

    def __init__(self, rng: np.random.Generator, *, replace: bool, samples: bool = False) -> None:
        self.rng, self.replace, self.samples = rng, replace, samples and not replace
        self.lines: list[str] = []
        self.names = 0
        self.rows: list[str] = []
        self.masks: list[str] = []
        self.vectors: list[tuple[str, int]] = []
        self.released: list[str] = []
        self._build()

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def number(self) -> float:
        return float(self.pick([-3.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 2.5, 7.0, 10.0, 1 / 3]))

    def positive(self) -> float:
        return float(self.pick([0.3, 0.5, 1.0, 2.0, 3.0, 7.0, 1 / 3]))

    def let(self, text: str) -> str:
        name = f"v{self.names}"
        self.names += 1
        self.lines.append(f"{name} = {text}")
        return name

    def row(self) -> str:
        if not self.rows or self.rng.random() < 0.4:
            return f"x[:, {int(self.rng.integers(3))}]"
        return str(self.pick(self.rows))

    def mask(self) -> str:
        return str(self.pick(self.masks)) if self.masks else self.let(f"{self.row()} > {self.number()}")

    def make_row(self) -> None:
        a, b, c, d = self.row(), self.row(), self.number(), self.positive()
        low, high = sorted([self.number(), self.number() + 3])
        found = self.pick([
            lambda: f"np.clip({a}, {low}, {high})", lambda: f"{a}.clip({low}, {high})", lambda: f"{a} + {b}",
            lambda: f"{a} - {b}", lambda: f"{a} * {b}", lambda: f"{a} * {c}", lambda: f"{c} - {a}", lambda: f"{a} / {d}",  # noqa: E501
            lambda: f"np.abs({a})", lambda: f"np.square({a})", lambda: f"np.sqrt(np.abs({a}))", lambda: f"np.tanh({a})",
            lambda: f"np.log1p(np.abs({a}))", lambda: f"np.exp(np.clip({a}, -2, 2))", lambda: f"np.floor({a})",
            lambda: f"np.minimum({a}, {b})", lambda: f"np.maximum({a}, {c})", lambda: f"np.where({self.mask()}, {a}, {b})",  # noqa: E501
            lambda: f"np.where({self.mask()}, {a}, 0)", lambda: f"np.where({self.mask()}, 0, {a})",
            lambda: f"{a} * {self.mask()}", lambda: f"np.nan_to_num({a}, nan={c})", lambda: f"{a} % {d}",
            lambda: f"np.sign({a})", lambda: f"-{a}", lambda: f"{a} ** 2", lambda: f"np.round({a}, 1)",
            lambda: f"np.clip({a}, -3, 3).astype(int).astype(float)", lambda: f"np.cos({a})", lambda: f"{a} // {d}",
            lambda: f"np.column_stack([{a}, {b}]).sum(axis=1)", lambda: f"np.fmax({a}, {c})", lambda: f"np.ceil({a})",
            lambda: f"np.digitize(np.nan_to_num({a}), [-1.0, 0.0, 2.0, 5.0]).astype(float)", lambda: f"np.arctan({a})",
            lambda: f"np.column_stack([{a}, {b}]) @ np.array([{c}, {d}])",
        ])()  # fmt: skip
        self.rows.append(self.let(found))

    def make_mask(self) -> None:
        a, c = self.row(), self.number()
        sign = self.pick(["<", "<=", ">", ">=", "==", "!="])
        found = self.pick([
            lambda: f"{a} {sign} {c}", lambda: f"{c} {sign} {a}", lambda: f"np.floor({a}) == {int(c)}",
            lambda: f"{self.mask()} & {self.mask()}", lambda: f"{self.mask()} | {self.mask()}",
            lambda: f"~{self.mask()}", lambda: f"np.isin(np.floor({a}), [0.0, 1.0, 3.0])", lambda: f"np.isnan({a})",
            lambda: f"({a} >= {c}) & ({a} < {c + 2})",
        ])()  # fmt: skip
        self.masks.append(self.let(found))

    def make_statistic(self) -> None:
        a, b = self.row(), self.row()
        kind = int(self.rng.integers(16)) - 2
        if self.rng.random() < 0.1:
            kind = 14 if self.replace else 15 if self.samples else kind
        if kind == -2:
            edges = f"[[-3.0, 0.0, {self.positive()}, 8.0], [-1.0, 0.5, 2.0]]"
            name, size = self.let(f"np.histogram2d({self._bounded(a)}, {self._bounded(b)}, {edges})[0].ravel()"), 6
        elif kind == -1:
            name = self.let(f"np.histogram2d({self._bounded(a)}, {self._bounded(b)}, 2, [[-1, 1], [0, 2]], "
                            f"weights={self._bounded(a)})[0].ravel()")  # fmt: skip
            size = 4
        elif kind < 3:
            name, size = self.let(f"np.stack([{self._bounded(a)}.sum(), {self.mask()}.sum() * 1.0])"), 2
        elif kind == 3:
            name, size = (
                self.let(f"np.array([{self._bounded(a)}[{self.mask()}].sum(), {self.mask()}.sum()], dtype=float)"),
                2,
            )
        elif kind == 4:
            name, size = (
                self.let(f"np.bincount(np.clip(np.floor({self._whole(a)}), 0, 3).astype(int), minlength=4) * 1.0"),
                4,
            )
        elif kind == 5:
            name, size = (
                self.let(
                    f"np.bincount(np.clip({self._whole(a)}, 0, 3).astype(int), weights={self._bounded(b)}, minlength=4)"
                ),
                4,
            )
        elif kind == 6:
            name, size = self.let(f"np.histogram({self._bounded(a)}, bins=[-3.0, 0.0, 1.0, 2.5, 4.0])[0] * 1.0"), 4
        elif kind == 7:
            name, size = (
                self.let(
                    f"np.histogram({self._bounded(a)}, bins=3, range=(-1, 2), weights={self._bounded(b)})[0] * 1.0"
                ),
                3,
            )
        elif kind == 8:
            y = self.let(f"np.column_stack([{self._bounded(a)}, {self._bounded(b)}])")
            name, size = self.let(f"{y}.sum(axis=0)"), 2
        elif kind == 9:
            y = self.let(f"np.column_stack([{self._bounded(a)}, {self._bounded(b)}])")
            name, size = self.let(f"({y}.T @ {y}).ravel()"), 4
        elif kind == 10:
            y = self.let(f"np.column_stack([{self._bounded(a)}, {self._bounded(b)}])")
            order, bound = self.pick([1, 2]), self.positive()
            n = self.let(f"np.linalg.norm({y}, ord={order}, axis=1, keepdims=True)")
            form = self.pick([f"({y} / np.maximum(1, {n} / {bound}))", f"({y} * np.minimum(1, {bound} / {n}))"])
            name, size = self.let(f"{form}.sum(axis=0)"), 2
        elif kind == 11:
            name, size = self.let(f"np.array([(np.floor({a}) == i).sum() for i in range(3)]) * 1.0"), 3
        elif kind == 12:
            m = self.let(f"{a} < {self.number()}")
            name, size = self.let(f"np.array([{self._bounded(b)}[{m}].sum(), {self._bounded(b)}[~{m}].sum()])"), 2
        elif kind == 13:
            name, size = (
                self.let(f"np.array([{self._bounded(a)} @ {self._bounded(b)}, {self.mask()}.sum()], dtype=float)"),
                2,
            )
        elif kind == 14:
            name, size = self.let(f"np.stack([{self._bounded(a)}.mean(), {self.mask()}.mean()])"), 2
        else:
            m = self.let(f"rng.random(len(x)) < {self.pick([0.01, 0.3, 0.9])}")
            parts = [f"{self._bounded(a)}[{m}].sum()", f"({m} & {self.mask()}).sum()", f"{m}.sum()",
                     f"np.where({m}, {self._bounded(b)}, 0).sum()"]  # fmt: skip
            name, size = self.let(f"np.array([{self.pick(parts)}, {self.pick(parts)}], dtype=float)"), 2
        self.vectors.append((name, size))

    def _bounded(self, row: str) -> str:
        low, high = sorted([self.number(), self.number() + 2])
        return f"np.clip(np.nan_to_num({row}), {low}, {high})"

    def _whole(self, row: str) -> str:
        return f"np.clip(np.nan_to_num({row}), -4, 9)"

    def change_statistic(self) -> None:
        name, size = self.pick(self.vectors)
        other = [one for one in self.vectors if one[1] == size]
        c, d = self.number() or 1.0, self.positive()
        text, width = self.pick([
            (lambda: (f"{name} * {c}", size)), (lambda: (f"{name} / {d}", size)), (lambda: (f"{name} + {c}", size)),
            (lambda: (f"{name} + {self.pick(other)[0]}", size)), (lambda: (f"{name} - {self.pick(other)[0]}", size)),
            (lambda: (f"np.cumsum({name})", size)), (lambda: (f"np.atleast_1d({name}.sum())", 1)),
            (lambda: (f"{name}[::-1]", size)), (lambda: (f"{name}[:1]", 1)), (lambda: (f"np.abs({name})", size)),
            (lambda: (f"np.maximum({name}, {c})", size)), (lambda: (f"np.clip({name}, -2, 5)", size)),
            (lambda: (f"np.concatenate([{name}, {self.pick(other)[0]}])", 2 * size)), (lambda: (f"-{name}", size)),
            (lambda: (f"np.diff(np.append({name}, 0.0))", size)), (lambda: (f"np.floor({name})", size)),
            (lambda: (f"{name}.astype(int) * 1.0", size)), (lambda: (f"np.ceil({name} * {d})", size)),
            (lambda: (f"np.arange({2 * size}.0).reshape(2, {size}) @ {name}", 2)),
            (lambda: (f"{name} @ np.ones(({size}, 2))", 2)),
        ])()  # fmt: skip
        self.vectors.append((self.let(text), width))

    def release(self) -> None:
        name, size = self.pick(self.vectors)
        kind = self.rng.random()
        scale = self.positive()
        if kind < 0.5:
            text = self.pick([
                f"{name} + rng.laplace(scale={scale}, size={size})", f"rng.laplace({name}, {scale})",
                f"{name} + {scale} * rng.laplace(size={size})",
                f"{name} + (rng.exponential({scale}, {size}) - rng.exponential({scale}, {size}))",
                f"{name} + rng.exponential({scale}, {size}) - rng.exponential({scale}, {size})",
            ])  # fmt: skip
        elif kind < 0.85:
            text = f"{name} + rng.normal(0, {scale}, {size})"
        elif kind < 0.9:
            share = float(self.pick([0.0, 0.25, 0.5]))
            cov = self.let(f"np.eye({size}) * {scale} + {share}")
            text = self.pick([f"{name} + rng.multivariate_normal(np.zeros({size}), {cov})",
                              f"rng.multivariate_normal({name}, {cov})"])  # fmt: skip
        elif kind < 0.95:
            text = f"{name}[0] + rng.laplace(0, {scale})"
        else:
            w = self.let(f"np.exp({scale} * ({name} - np.max({name})))")
            text = f"rng.choice({size}, p={w} / {w}.sum())"
        self.released.append(self.let(text))

    def _build(self) -> None:
        for _ in range(int(self.rng.integers(1, 6))):
            self.make_row()
            if self.rng.random() < 0.5:
                self.make_mask()
        for _ in range(int(self.rng.integers(1, 3))):
            self.make_statistic()
        for _ in range(int(self.rng.integers(0, 4))):
            self.change_statistic()
        for _ in range(int(self.rng.integers(1, 4))):
            self.release()

    @property
    def text(self) -> str:
        body = "\n    ".join([*self.lines, f"return [{', '.join(self.released)}]"])
        return f"def program({self.table}, rng):\n    {body}\n"

    def function(self) -> Callable[..., Any]:
        names: dict[str, Any] = {**self.modules, "__name__": "a_random_program"}
        exec(compile(self.text, "<program>", "exec"), names)
        found: Callable[..., Any] = names["program"]
        return found


def random_schema(rng: np.random.Generator, *, replace: bool) -> TableSchema:
    """Three columns of floats; bounds on some sides, gaps in some."""
    columns = []
    for name in "abc":
        low, high = sorted(rng.choice([-5.0, -1.0, 0.0, 0.5, 2.0, 10.0], size=2, replace=False).tolist())
        bounded = rng.random() < 0.8
        columns.append(
            Column(name=name, type="float", low=low if bounded else None, high=high if bounded else None,
                   nullable=bool(rng.random() < 0.2))
        )  # fmt: skip
    relation = REPLACE_ONE if replace else ADD_OR_REMOVE_ONE
    return TableSchema(relation=relation, table="numpy", columns=tuple(columns), records=RECORDS if replace else None)


@dataclass
class Measured:
    """How far the draws of one pair are moved, in units of their scales; what rounding may have added is taken off."""

    laplace: list[float] = field(default_factory=list)
    gaussian: float = 0.0
    choices: list[float] = field(default_factory=list)
    undefined: bool = False
    size: float = 0.0


def measured(function: Callable[..., Any], one: Any, other: Any) -> Measured:
    """The loss of a pair, from two plain runs without noise."""
    found = Measured()
    outcomes = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for table in (one, other):
            rng = Zero()
            outcomes.append((function(copy.deepcopy(table), rng), rng.draws))
    (first, draws), (second, same) = outcomes
    assert len(draws) == len(same)
    for (law, scale), a, b in zip(draws, first, second, strict=True):
        here, there = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        if law == "choice":
            known = ~(np.isnan(here) | np.isnan(there))
            here, there = here[known], there[known]
        if not (np.isfinite(here).all() and np.isfinite(there).all()):
            found.undefined = True
            continue
        move = np.abs(here - there)
        if law == "correlated":
            _of_correlated(found, scale, here, there)
            continue
        sure = np.maximum(move - ROUNDING * (1 + np.abs(here) + np.abs(there)), 0.0) / scale
        if law == "laplace":
            found.laplace += sure.ravel().tolist()
        elif law == "gaussian":
            found.gaussian += float(np.sum(sure**2))
        else:
            found.choices.append(float(sure.max(initial=0.0)))
        found.size += float(np.sum(move / scale) if law == "laplace" else np.sum((move / scale) ** 2))
    found.laplace = sorted((one for one in found.laplace if one > 0), reverse=True)
    return found


def _of_correlated(found: Measured, covariance: Any, here: Any, there: Any) -> None:
    """What a pair spends of Gaussian noise that depends on each other; what rounding may have added is taken off."""
    move = here - there
    square = float(move @ np.linalg.solve(covariance, move))
    off = ROUNDING * float(np.linalg.norm(1 + np.abs(here) + np.abs(there)))
    least = float(np.linalg.eigvalsh(covariance).min()) ** 0.5
    found.gaussian += max(square**0.5 - off / least, 0.0) ** 2
    found.size += square


def dominated(pair: Measured, options: list[Spent]) -> bool:
    """Whether some alternative of a certificate dominates what a pair spends."""
    return not pair.undefined and any(_by(pair, one) for one in options)


def _by(pair: Measured, one: Spent) -> bool:
    one = one.by_all_records()  # in the plain runs every record is in each sample
    if pair.gaussian > float(one.gaussian) * (1 + 1e-12):
        return False
    if sum(pair.choices) > float(sum(one.ranges)) * (1 + 1e-12):
        return False
    if one.together is not None and sum(pair.laplace) + sum(pair.choices) > float(one.together) * (1 + 1e-12):
        return False
    own = sorted((float(move) for move, times in one.laplace for _ in range(times)), reverse=True)
    if one.pure:
        return sum(pair.laplace) <= (float(one.pure) + sum(own)) * (1 + 1e-12)
    return len(pair.laplace) <= len(own) and all(a <= b * (1 + 1e-12) for a, b in zip(pair.laplace, own, strict=False))


def pairs(schema: TableSchema, rng: np.random.Generator, count: int) -> list[tuple[Any, Any]]:
    """Neighbouring tables: random ones, and ones with records at the ends of the schema."""
    extremes = [_finite(one) for one in schema.extreme_records()]

    def record() -> dict[str, Any]:
        if rng.random() < 0.5:
            return extremes[int(rng.integers(len(extremes)))]
        return _finite(schema.random_record(rng))

    found = []
    for _ in range(count):
        base = [record() for _ in range(RECORDS - 1 if schema.records else int(rng.integers(0, 5)))]
        rows = [*base, record()]
        order = rng.permutation(len(rows))
        one = schema.dataset([rows[i] for i in order])
        if schema.records:
            rows[-1] = record()
            found.append((one, schema.dataset([rows[i] for i in order])))
        else:
            found.append((one, schema.dataset(base)))
    return found


def _finite(record: Any) -> dict[str, Any]:
    return {key: float(np.clip(one, -1e6, 1e6)) if isinstance(one, float) else one for key, one in record.items()}


@dataclass
class Counted:
    """What a run of the suite saw."""

    programs: int = 0
    covered: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    above: list[str] = field(default_factory=list)
    reached: int = 0
    boxes: int = 0


BOXES = {3: 0.7, 12: 0.275, joint.MOST_BOXES: 0.025}
"""How many boxes the bound on all releases together looks at, of which share of the programs.

It holds wherever it stops, and with all boxes of all programs it is 19 parts in 20 of the time of the suite.
"""


def suite(
    seed: int,
    programs: int,
    pairs_each: int,
    *,
    made: type[Program] = Program,
    schema_of: Callable[..., TableSchema] = random_schema,
) -> Counted:
    """Hold certified programs against pairs."""
    with pytest.MonkeyPatch.context() as patch:
        return _suite(seed, programs, pairs_each, made, schema_of, patch)


def _suite(
    seed: int,
    programs: int,
    pairs_each: int,
    made: type[Program],
    schema_of: Callable[..., TableSchema],
    patch: pytest.MonkeyPatch,
) -> Counted:
    rng = np.random.default_rng(seed)
    found = Counted()
    for _ in range(programs):
        replace = bool(rng.random() < 0.4)
        schema, program = schema_of(rng, replace=replace), made(rng, replace=replace, samples=True)
        found.programs += 1
        function = program.function()
        trace = followed(function, schema, seed=int(rng.integers(2**31)))
        if trace.refused is not None:
            found.refused[trace.refused] += 1
            continue
        found.covered += 1
        patch.setattr(joint, "MOST_BOXES", int(rng.choice(list(BOXES), p=list(BOXES.values()))))
        options = jointly(alternatives(trace.releases, replace=replace), trace.releases, replace=replace)
        size = 0.0
        for one, other in pairs(schema, rng, pairs_each):
            pair = measured(function, one, other)
            if not dominated(pair, options):
                found.above.append(f"{schema.to_toml()}\n{program.text}\n{one!r}\n{other!r}\n{pair}\n{options}")
                break
            size = max(size, pair.size)
        kinds = {None if one.noise is None else one.noise.law for one in trace.releases}
        boxed = all(one.fact.norm is None and one.sample is None for one in trace.releases)
        if len(kinds) == 1 and None not in kinds and boxed:
            most = max(float(one.gaussian) or float(one.epsilon() or 0) for one in options)
            found.boxes += 1
            found.reached += size >= most * (1 - 1e-12)
    return found


def attained(seed: int, programs: int, seconds: float) -> Counted:
    """How many bounds of boxes with noise of one kind are attained, to 1e-12, by a pair that the search shows.

    The pairs are measured by running the programs plainly, and held against the bound as random ones are.
    """
    rng = np.random.default_rng(seed)
    found = Counted()
    while found.programs < programs:
        found.programs += 1
        replace = bool(rng.random() < 0.4)
        schema, program = random_schema(rng, replace=replace), Program(rng, replace=replace)
        function = program.function()
        trace = followed(function, schema, seed=1)
        kinds = {None if one.noise is None else one.noise.law for one in trace.releases}
        if (
            len(kinds) != 1
            or kinds & {None, MIXED}
            or any(one.fact.norm is not None or one.sample for one in trace.releases)
        ):
            continue
        found.boxes += 1
        options = jointly(alternatives(trace.releases, replace=replace), trace.releases, replace=replace)
        most = max(float(one.gaussian) or float(one.epsilon() or 0) for one in options)
        size = 0.0
        for pair in widest_pairs(function, schema, trace, options, seed=0, seconds=seconds):
            moved = measured(function, schema.dataset(pair.rows), schema.dataset(pair.neighbour))
            if not dominated(moved, options):
                found.above.append(f"{schema.to_toml()}\n{program.text}\n{pair}")
            size = max(size, moved.size)
        found.reached += size >= most * (1 - 1e-12)
    return found
