"""Generators of random numbers that a function finds ready-made: how they were started, by the text that makes them.

A trace sees which draws are made, not from which state. A generator that the function makes itself is seen to be
started; one of a module was started when the module was loaded. It may be taken for one of which nobody knows the
state if the text of the module says so, and nothing in it says otherwise:

    RNG = np.random.default_rng()          no argument, or None: the operating system chooses the state
    RNG = np.random.default_rng(0)         everybody can compute the noise: it protects nothing

The name has to be bound once, at the top of the module, by a call of a constructor of NumPy or of Python that starts
from the operating system; and no code of that file sets a state, or reaches into its own names. Beside the text, the
generator itself is looked at: the entropy that NumPy started it with is a number of 128 bits, and no small one.
"""

from __future__ import annotations

import ast
import random
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.tracing.source.text import tree_of

SEEDING: Final = ("seed", "set_state", "setstate", "set_bit_generator")
"""Names that start a generator from a fixed number, or give it a state."""
_INTO_THE_STATE: Final = ("bit_generator", "_bit_generator", "__setstate__", "get_state", "getstate", "__getstate__",
                          "__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__", "__dict__")  # fmt: skip
_INTO_THE_NAMES: Final = ("globals", "locals", "vars", "exec", "eval", "setattr", "delattr", "__import__")
_BIT_GENERATORS: Final = tuple(
    getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
)
_STARTED: Final = (np.random.default_rng, np.random.RandomState, random.Random, random.SystemRandom)
_OF_MODULES: Final = {
    name: getattr(np.random, name)
    for name in ("default_rng", "RandomState", "Generator", "laplace", "normal", "standard_normal", "gumbel",
                 "geometric", "exponential", "choice", "randn")
}  # fmt: skip
"""Functions of NumPy as they are before any code of a user's is loaded."""
_LEAST_BITS: Final = 64
_REMEDY: Final = "take it as a second argument, or write np.random.default_rng() inside"
_DEEPEST: Final = 8


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReadyMade:
    """A generator that code finds under a name.

    Attributes:
        name: in its module, or of the parameter of which it is the default.
        value: the generator.
        names: of the module; None where the generator is not bound there.
        filename: of the module.
        default_of: the function of which it is the default of a parameter; None where it is a name of a module.
    """

    name: str
    value: Any
    names: dict[str, Any] | None
    filename: str
    default_of: FunctionType | None = None


def is_generator(value: Any) -> bool:
    """Whether a value draws random numbers."""
    return isinstance(value, np.random.Generator | np.random.RandomState | random.Random | np.random.BitGenerator)


def not_fresh(one: ReadyMade) -> str | None:
    """Why a generator may not be taken for one of which nobody knows the state; None where it may."""
    if type(one.value) not in (np.random.Generator, np.random.RandomState, random.Random, random.SystemRandom):
        return f"{one.name} is a generator of a kind that is not followed: {_REMEDY}"
    why = _by_its_text(one)
    if why is not None:
        return why
    if isinstance(one.value, np.random.Generator):
        started: Any = getattr(one.value.bit_generator, "seed_seq", None)
        entropy = getattr(started, "entropy", None)
        if not isinstance(entropy, int) or entropy.bit_length() < _LEAST_BITS or started.spawn_key != ():
            return f"{one.name} was started from a number, so that its noise can be computed: write default_rng()"
    return None


def is_a_library_generator(value: Any) -> bool:
    """Whether a value is the generator behind the functions of np.random, or of random."""
    return value is np.random.mtrand._rand or value is getattr(random, "_inst", None)  # pyright: ignore[reportPrivateUsage]


def replaced_functions() -> str | None:
    """Whether somebody put another function in the place of one of np.random."""
    for name, own in _OF_MODULES.items():
        if getattr(np.random, name) is not own:
            return f"np.random.{name} was replaced by other code: use it as NumPy has it"
    return None


def seeded(tree: ast.Module) -> str | None:
    """Whether a file starts a generator of a whole module from a number, or sets a state, anywhere in it."""
    for node in ast.walk(tree):
        match node:  # pyright: ignore[reportMatchNotExhaustive]
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in SEEDING:
                return f"line {node.lineno}: {name}() starts the noise from a fixed number"
            case ast.ImportFrom(names=names) if any(one.name in SEEDING for one in names):
                return f"line {node.lineno}: a function that starts the noise from a fixed number is imported"
            case ast.Attribute(attr="set_bit_generator" | "set_state" | "setstate"):
                return f"line {node.lineno}: .{node.attr} sets the state of a generator"
    return None


# the text -------------------------------------------------------------------------------------------------------------


def _by_its_text(one: ReadyMade, depth: int = 0) -> str | None:
    outside = f"{one.name} is a generator that was made outside of the function, and nobody sees how it was started"
    tree = tree_of(one.filename)
    if one.names is None or not tree.body or depth > _DEEPEST:
        return f"{outside}: {_REMEDY}"
    reaching = _reaches_into(tree, one.name) or _hands_on(tree, one.name)
    if reaching is not None:
        return f"{outside}, as {reaching}: {_REMEDY}"
    if one.default_of is not None:
        made = _default(tree, one.default_of, one.name)  # type: ignore[arg-type]  # a field is no method
    else:
        bound = list(_bindings(tree, one.name))
        if len(bound) != 1:
            return f"{outside}, as the name is bound {len(bound)} times in its module: {_REMEDY}"
        (statement,) = bound
        if isinstance(statement, ast.ImportFrom):
            return _imported(one, statement, outside, depth)
        made = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) and statement in tree.body else None
    if not isinstance(made, ast.Call):
        return f"{outside}: {_REMEDY}"
    return _started_by(made, one, tree, outside)


def _imported(one: ReadyMade, statement: ast.ImportFrom, outside: str, depth: int) -> str | None:
    """A generator that is made in another module of the user's."""
    assert one.names is not None
    former = next(part.name for part in statement.names if (part.asname or part.name) == one.name)
    package = str(one.names.get("__package__") or "")
    parents = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
    module = sys.modules.get(".".join([*parents, *([statement.module] if statement.module else [])]))
    filename = getattr(module, "__file__", None)
    if filename is None or vars(module).get(former) is not one.value:
        return f"{outside}: {_REMEDY}"
    return _by_its_text(ReadyMade(former, one.value, vars(module), filename), depth + 1)


def _started_by(call: ast.Call, one: ReadyMade, tree: ast.Module, outside: str) -> str | None:
    """Whether a call starts a generator from the operating system."""
    function = _meaning(call.func, one, tree)
    given = [*call.args, *(part.value for part in call.keywords)]
    if function is np.random.Generator and len(given) == 1 and isinstance(given[0], ast.Call):
        inner = _meaning(given[0].func, one, tree)
        if not any(inner is kind for kind in _BIT_GENERATORS):
            return f"{outside}: {_REMEDY}"
        given = [*given[0].args, *(part.value for part in given[0].keywords)]
    elif not any(function is kind for kind in _STARTED):
        return f"{outside}: {_REMEDY}"
    if not given or (len(given) == 1 and _from_the_system(given[0], one, tree)):
        return None
    return (f"line {call.lineno}: {one.name} is started from a number, so that its noise can be computed: "
            "write np.random.default_rng() without one")  # fmt: skip


def _from_the_system(node: ast.expr, one: ReadyMade, tree: ast.Module) -> bool:
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Call(args=[ast.Constant(value=int(bits))], keywords=[]):
            return bits >= 2 * _LEAST_BITS and _meaning(node.func, one, tree) is secrets.randbits
        case _:
            return False


def _meaning(node: ast.expr, one: ReadyMade, tree: ast.Module) -> Any:
    """What a dotted name stands for, where its first part is bound once in the module, by an import."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or one.names is None:
        return None
    bound = list(_bindings(tree, node.id))
    if len(bound) != 1 or not isinstance(bound[0], ast.Import | ast.ImportFrom):
        return None
    found = one.names.get(node.id)
    for part in reversed(parts):
        found = getattr(found, part, None)
    return found


def _bindings(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """The statements that bind a name of a module, wherever they stand; of functions, those that say ``global``."""
    waiting: list[tuple[ast.AST, ast.stmt | None]] = [(node, node) for node in tree.body]
    while waiting:
        node, statement = waiting.pop()
        statement = node if isinstance(node, ast.stmt) else statement
        match node:  # pyright: ignore[reportMatchNotExhaustive]
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                if getattr(node, "name", None) == name:
                    yield node
                if any(isinstance(one, ast.Global) and name in one.names for one in ast.walk(node)):
                    yield node
                given = [*node.args.defaults, *node.args.kw_defaults, *getattr(node, "decorator_list", ())]
                waiting += [(one, statement) for one in given if one is not None]
                continue
            case ast.ClassDef():
                if node.name == name:
                    yield node
                if any(isinstance(one, ast.Global) and name in one.names for one in ast.walk(node)):
                    yield node
                continue
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for one in names:
                    if one.name == "*":
                        yield from (node, node)  # it may bind any name
                    elif (one.asname or one.name.partition(".")[0]) == name:
                        yield node
            case ast.Name(id=own, ctx=ast.Store() | ast.Del()) if own == name:
                yield statement or node
            case ast.ExceptHandler(name=own) | ast.MatchAs(name=own) | ast.MatchStar(name=own) if own == name:
                yield node
            case ast.MatchMapping(rest=own) if own == name:
                yield node
        waiting += [(inner, statement) for inner in ast.iter_child_nodes(node)]


def _default(tree: ast.Module, function: FunctionType, name: str) -> ast.expr | None:
    """The expression of the default of a parameter."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name != function.__name__ or node.decorator_list:
            continue
        if node.lineno != function.__code__.co_firstlineno:
            continue
        places = [*node.args.posonlyargs, *node.args.args]
        found = dict(zip([one.arg for one in reversed(places)], reversed(node.args.defaults), strict=False))
        found |= {one.arg: value for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                  if value is not None}  # fmt: skip
        return found.get(name)
    return None


def _reaches_into(tree: ast.Module, name: str) -> str | None:
    """Whether the code of a file may set the state of a generator, or bind its name, in a way that is not seen."""
    for node in ast.walk(tree):
        match node:  # pyright: ignore[reportMatchNotExhaustive]
            case ast.Attribute(attr=own) if own in _INTO_THE_STATE:
                return f"line {node.lineno} uses .{own}"
            case ast.Name(id=own) if own in _INTO_THE_NAMES:
                return f"line {node.lineno} uses {own}()"
            case ast.Attribute(attr=own, ctx=ast.Store() | ast.Del()) if own == name:
                return f"line {node.lineno} sets .{own}"
    return None


def _hands_on(tree: ast.Module, name: str) -> str | None:
    """Whether the code of a module itself does anything with a generator but to draw: it may keep a copy of it.

    A function that keeps a copy leaves it in something that is read, which is looked into as well; what stands under
    ``if __name__ == "__main__"`` is not run where the module is imported.
    """
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        match node:  # pyright: ignore[reportMatchNotExhaustive]
            case ast.FunctionDef(args=args) | ast.AsyncFunctionDef(args=args):
                waiting += [*args.defaults, *(value for value in args.kw_defaults if value), *node.decorator_list]
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()]), orelse=[]):
                continue
            case ast.Attribute(value=ast.Name()):
                continue  # a draw; what sets a state is looked for by its name
            case ast.Name(id=own, ctx=ast.Load()) if own == name:
                return f"line {node.lineno} hands it on, and may keep a copy"
            case _:
                waiting += ast.iter_child_nodes(node)
    return None


def of_defaults(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The parameters of a function that have a default, with it."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    own = function.__defaults__ or ()
    yield from zip(names[len(names) - len(own) :], own, strict=True)
    given: Mapping[str, Any] = function.__kwdefaults__ or {}
    yield from given.items()
