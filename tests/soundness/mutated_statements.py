"""Does the ledger notice a wrong formula? One small change at a time to its checks, and to the formulas they rest on.

    python tests/soundness/mutated_statements.py --sample 200 --seed 1

A change is made in the syntax tree of a file of ``proofs/``, or of a formula that the checks call: a constant plus 1,
another comparison, another arithmetic operator, a sign or a term left out, a loop cut to its first item. Then the
statements that reach the changed code are checked again, in a process of their own, those that are most about it first.
A mutant is killed if one of their outcomes is no longer the recorded one, if a planted fault is missed, if the check
ends with an error or takes far longer, or if the ledger would show another scope, the region or the cases that ran, or
another counterexample of what fails as printed; otherwise it survives. One at a place that none of these statements
ever comes to is not counted. Words, drawings, what a witness shows and planted faults are not mutated: a planted fault
stands for many, and another wrong one is as good.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.util
import os
import pickle
import random
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from dpverdict.numerics.sources import reached
from dpverdict.proofs.checks.outcome import FaultFinding, Outcome, Standing
from dpverdict.proofs.checks.registry import registered, statements
from dpverdict.proofs.checks.statement import Plant, Statement

WORDS = frozenset(
    {"planted", "text", "formula", "show", "note", "figure", "scope", "over", "argued", "assumptions", "restored"}
    | {"margin", "witness", "number", "kind", "paper", "named", "confirms", "needs", "domain", "method", "key"}
)
"""The keywords whose values no outcome rests on, or which are declarations beside the claim."""

FORMULAS = (
    "dpverdict.mechanisms.core.calibration",
    "dpverdict.numerics.gaussian_formulas",
    "dpverdict.mechanisms.queries.count_ellipse",
    "dpverdict.mechanisms.streams.digits",
)
"""Modules of formulas, written once for the mechanisms and the checks; those that are there."""

MOST = 4, 16
"""How many of the statements that reach a change are checked: at first, and where they notice nothing."""

STOP = "stop here"
"""The change that ends the check as soon as it comes to the place."""

OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


@dataclass(frozen=True)
class Mutant:
    """One change: the module, the place in its tree, what is done there, and the statements that reach it."""

    module: str
    line: int
    path: tuple[tuple[str, int | None], ...]
    operator: str
    shown: str
    concerned: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        names = ", ".join(number for _, number in self.concerned[:3]) + (", ..." if len(self.concerned) > 3 else "")
        return f"{self.module.removeprefix('dpverdict.')}:{self.line} {self.operator}: {self.shown} [{names}]"


def operators(node: ast.AST) -> Iterator[str]:
    """What can be changed at this node."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "plus 1"
    if isinstance(node, ast.BinOp) and type(node.op) in OTHER:
        yield "operator"
        if isinstance(node.op, ast.Add | ast.Sub):
            yield "drop the second term"
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OTHER:
        yield "comparison"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "drop the sign"
    if isinstance(node, ast.BoolOp):
        yield "drop the last condition"
    if isinstance(node, ast.comprehension | ast.For):
        yield "cut to the first"


def changed(node: ast.AST, operator: str) -> ast.AST:
    """The node with the change made; it may be another node."""
    match node, operator:
        case ((ast.comprehension() | ast.For()), "stop here"):
            node.iter = ast.copy_location(ast.parse("exec('raise SystemExit')", mode="eval").body, node.target)
        case _, "stop here":
            return ast.copy_location(ast.parse("exec('raise SystemExit')", mode="eval").body, node)
        case ast.Constant(), "plus 1":
            assert isinstance(node.value, int)
            node.value += 1
        case ast.BinOp(), "operator":
            node.op = OTHER[type(node.op)]()  # type: ignore[assignment]
        case ast.BinOp(), "drop the second term":
            return node.left
        case ast.Compare(), "comparison":
            node.ops[0] = OTHER[type(node.ops[0])]()  # type: ignore[assignment]
        case ast.UnaryOp(), "drop the sign":
            return node.operand
        case ast.BoolOp(), "drop the last condition":
            node.values = node.values[:-1] if len(node.values) > 2 else [node.values[0], node.values[0]]
        case ((ast.comprehension() | ast.For()), "cut to the first"):
            first = ast.parse("__import__('itertools').islice(0, 1)", mode="eval").body
            assert isinstance(first, ast.Call)
            first.args[0] = node.iter
            node.iter = ast.copy_location(first, node.target)
        case _:
            raise ValueError(f"no {operator} at {ast.dump(node)}")
    return node


def places(tree: ast.AST) -> Iterator[tuple[tuple[tuple[str, int | None], ...], ast.AST, tuple[ast.FunctionDef, ...]]]:
    """Every node that may be changed: its path from the root, itself, and the functions around it."""

    def walk(
        node: ast.AST, path: tuple[tuple[str, int | None], ...], around: tuple[ast.FunctionDef, ...]
    ) -> Iterator[tuple[tuple[tuple[str, int | None], ...], ast.AST, tuple[ast.FunctionDef, ...]]]:
        yield path, node, around
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "slice", "args", "bases") and isinstance(
                node, ast.FunctionDef | ast.AnnAssign | ast.Subscript | ast.ClassDef | ast.arg
            ):
                continue
            inside = (*around, node) if isinstance(node, ast.FunctionDef) and name == "body" else around
            decorated = (*around, node) if isinstance(node, ast.FunctionDef) and name == "decorator_list" else inside
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.keyword) and child.arg in WORDS:
                    continue
                if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "Plant":
                    continue
                if isinstance(child, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Raise | ast.Assert):
                    continue
                if isinstance(child, ast.If) and all(isinstance(one, ast.Raise) for one in child.body):
                    continue  # what is refused, which no statement asks for
                if isinstance(child, ast.AST):
                    yield from walk(child, (*path, (name, index)), decorated)

    yield from walk(tree, (), ())


def at(tree: ast.AST, path: Sequence[tuple[str, int | None]]) -> ast.AST:
    """The node at a path."""
    node = tree
    for name, index in path:
        found = getattr(node, name)
        node = found if index is None else found[index]
    return node


def mutated(tree: ast.Module, mutant: Mutant) -> ast.Module:
    """A copy of the tree with the change."""
    made = copy.deepcopy(tree)
    new = changed(at(made, mutant.path), mutant.operator)
    name, index = mutant.path[-1]
    parent = at(made, mutant.path[:-1])
    if index is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[index] = new
    return ast.fix_missing_locations(made)


@cache
def parsed(module: str) -> tuple[ast.Module, str]:
    """The tree and the file of a module."""
    file = importlib.import_module(module).__file__
    assert file is not None
    return ast.parse(Path(file).read_text(encoding="utf-8")), file


@cache
def users() -> dict[tuple[str, int], list[tuple[str, str]]]:
    """Which statements reach the function that begins at a line of a module, those that reach the fewest others first:
    the less a check uses, the more of it is about the function.
    """
    sizes = {}
    for one in statements():
        functions = [item for item in reached(one.check, one.printed, data=True) if isinstance(item, FunctionType)]
        sizes[one.paper, one.number] = {(item.__module__, item.__code__.co_firstlineno) for item in functions}
    found: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for name in sorted(sizes, key=lambda name: len(sizes[name])):
        for place in sizes[name]:
            found.setdefault(place, []).append(name)
    return found


def mutants(module: str) -> list[Mutant]:
    """All changes of one module that a statement reaches, in the order of the file."""
    tree, _ = parsed(module)
    registered_here = {_first(one.check): (one.paper, one.number) for one in statements() if _home(one) == module}
    found = []
    for path, node, around in places(tree):
        for operator in operators(node):
            line = getattr(node, "lineno", None) or getattr(getattr(node, "target", None), "lineno", 0)
            outer = around[0] if around else None
            first = 0 if outer is None else min([outer.lineno, *(one.lineno for one in outer.decorator_list)])
            own = registered_here.get(first)
            concerned = [own] if own is not None else users().get((module, first), []) if outer is not None else []
            if outer is None and module.startswith("dpverdict.proofs"):
                concerned = [registered_here[line] for line in _mentioning(tree, path) if line in registered_here]
            if concerned:
                shown = " ".join(ast.unparse(node).split())[:70]
                found.append(Mutant(module, line, path, operator, shown, tuple(dict.fromkeys(concerned))))
    return found


def _mentioning(tree: ast.Module, path: Sequence[tuple[str, int | None]]) -> list[int]:
    """The first lines of the functions that mention what is defined there, themselves or through other definitions."""
    index = path[0][1] if path else None
    if index is None:
        return []
    names = {
        one.id for one in ast.walk(tree.body[index]) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    found: dict[int, None] = {}
    for _ in range(len(tree.body)):
        before = len(names), len(found)
        for one in tree.body:
            if not any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(one)):
                continue
            if isinstance(one, ast.FunctionDef):
                names.add(one.name)
                found[min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)])] = None
            elif isinstance(one, ast.ClassDef):
                names.add(one.name)
            elif isinstance(one, ast.Assign | ast.AnnAssign):
                names |= {
                    part.id for part in ast.walk(one) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
                }
        if before == (len(names), len(found)):
            break
    return list(found)


def _first(check: Callable[..., object]) -> int:
    assert isinstance(check, FunctionType)
    return check.__code__.co_firstlineno


def _home(one: Statement) -> str:
    return str(one.check.__module__)


def install(mutant: Mutant) -> None:
    """Make the change in this process: in place in the functions that are there, so that all who hold them see it.

    What stands outside functions, claims above all, is run again in the module, which registers its statements anew.
    """
    tree, file = parsed(mutant.module)
    code = compile(mutated(tree, mutant), file, "exec")
    module = importlib.import_module(mutant.module)
    inside = {}
    for found in _codes(code):
        inside.setdefault((found.co_qualname, found.co_firstlineno), found)
    for one in _functions(module):
        new = inside.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
        if new is not None and len(new.co_freevars) == len(one.__code__.co_freevars):
            one.__code__ = new
    if mutant.module.startswith("dpverdict.proofs"):
        exec(code, module.__dict__)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in list(vars(module).values()):
        items = vars(value).values() if isinstance(value, type) else [value]
        for item in items:
            item = getattr(item, "__func__", getattr(item, "__wrapped__", item))
            item = item.check if isinstance(item, Statement) else item
            if isinstance(item, FunctionType) and item.__module__ == module.__name__:
                yield item


def verdict(mutant: Mutant, most: int) -> tuple[str, dict[tuple[str, str], str]]:
    """Why the mutant is killed, or "" if nothing is noticed; and what the ledger shows of its statements.

    Its statements are checked, the quickest means first.
    """
    install(mutant)
    names = mutant.concerned[:most]
    rows: dict[tuple[str, str], str] = {}
    for how in (unrun, WITH_FAULTS):
        Statement._run = how  # type: ignore[method-assign]
        for paper, number in names:
            outcome = registered(paper, number).decided_alone()
            rows[paper, number] = row_of(outcome)
            if noticed(outcome):
                return f"{number}: {outcome.standing.value}", rows
    return "", rows


WITH_FAULTS = Statement._run


def unrun(_: Statement, fault: Plant) -> FaultFinding:
    """A planted fault that is taken as found."""
    return FaultFinding(condition=fault.condition, text=fault.text, missed="")


def row_of(outcome: Outcome) -> str:
    """The scope that the ledger shows, and the counterexample where there is one."""
    return f"{outcome.scope}; {outcome.witness}"


@cache
def unchanged_row(paper: str, number: str) -> str:
    """What the ledger shows of a statement without any change."""
    Statement._run = unrun  # type: ignore[method-assign]
    try:
        return row_of(registered(paper, number).decided_alone())
    finally:
        Statement._run = WITH_FAULTS  # type: ignore[method-assign]


def noticed(outcome: Outcome) -> bool:
    """Whether the outcome is not the recorded one; alone, a statement may stand higher than with what it needs."""
    holding = {Standing.HOLDS, Standing.HOLDS_ON_RANGE}
    same = outcome.standing is outcome.expected or {outcome.standing, outcome.expected} == holding
    return bool(outcome.defects) or not same


def killed_by(mutant: Mutant) -> str | None:
    """Why the mutant is killed, "" if it survives, None if no statement comes to the place."""
    if said := run(mutant):
        return said
    if len(mutant.concerned) > MOST[0] and (said := run(mutant, MOST[1], seconds=90)) and said != OUT_OF_TIME:
        return said  # where many statements are checked, a long run shows nothing
    return "" if run(replace(mutant, operator=STOP), MOST[1], seconds=90) else None


OUT_OF_TIME = f"ended by {signal.SIGXCPU.name}"


def run(mutant: Mutant, most: int = MOST[0], seconds: int = 20) -> str:
    """`verdict` in a process of its own; an error or too long a run kills the mutant as well."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        try:
            said = verdict(mutant, most)
        except BaseException as error:
            said = f"ended with {type(error).__name__}", {}
        os.write(write, pickle.dumps(said))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        sent = pipe.read()
    _, status = os.waitpid(child, 0)
    if not sent:
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else "ended"
    why, rows = pickle.loads(sent)
    other = [number for (paper, number), row in rows.items() if not why and row != unchanged_row(paper, number)]
    return f"{other[0]}: another row" if other else str(why)


def modules() -> list[str]:
    """The modules in which statements are registered, the helpers of their rooms, and the formulas."""
    homes = {_home(one) for one in statements()}
    rooms = {name.rpartition(".")[0] for name in homes}
    helpers = {name for name in sys.modules if name.rpartition(".")[0].startswith(tuple(rooms))}
    there = [name for name in FORMULAS if importlib.util.find_spec(name) is not None]
    return sorted(homes | {name for name in helpers if "." in name and hasattr(sys.modules[name], "__file__")}) + there


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a sample and print the share killed, and every survivor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=200, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=None, help="modules to mutate; all by default")
    parser.add_argument("--skip", nargs="*", default=(), help="numbers of statements that take too long")
    asked = parser.parse_args(arguments)
    everything = [
        mutant
        for module in (modules() if asked.only is None else asked.only)
        for mutant in mutants(module)
        if not any(number in asked.skip for _, number in mutant.concerned[: MOST[0]])
    ]
    chosen = random.Random(asked.seed).sample(everything, min(asked.sample, len(everything)))
    print(f"{len(everything)} mutants, {len(chosen)} of them run, seed {asked.seed}", flush=True)
    operators_of, survivors, never = Counter[tuple[str, bool]](), list[Mutant](), 0
    for done, mutant in enumerate(chosen):
        said = killed_by(mutant)
        if said is None:
            never += 1
            print(f"never run: {mutant}", flush=True)
            continue
        operators_of[mutant.operator, bool(said)] += 1
        if not said:
            survivors.append(mutant)
            print(f"survives: {mutant}", flush=True)
        if done % 20 == 19:
            print(f"{done + 1} run, {len(survivors)} survive", flush=True)
    counted = len(chosen) - never
    for operator in sorted({name for name, _ in operators_of}):
        dead, alive = operators_of[operator, True], operators_of[operator, False]
        print(f"  {operator}: {dead} of {dead + alive} killed")
    killed = counted - len(survivors)
    print(f"{killed} of {counted} killed: {100 * killed / counted:.1f} %; {never} at places that no statement comes to")
    return 0


if __name__ == "__main__":
    sys.exit(main())
