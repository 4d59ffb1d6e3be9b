"""What the code of a function reaches beside its arguments: other functions, names of its modules, and what it decides.

A run shows what happened on one path. This looks at the code itself, for what a run cannot show: files, clocks and
modules that go around the trace, what is kept from one call to the next, seeds, and decisions after a noised value has
left the trace.
"""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import ast
import builtins
import collections
import dataclasses
import dis
import functools
import inspect
import os
import sys
import sysconfig
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from dpverdict.audit.tracing.source.exceptions import Blocks, blocks, caught
from dpverdict.audit.tracing.source.generators import ReadyMade, is_generator, of_defaults, seeded
from dpverdict.audit.tracing.source.text import tree_of

_MODULES: Final = frozenset(
    [
        "time",
        "os",
        "io",
        "sys",
        "socket",
        "subprocess",
        "threading",
        "multiprocessing",
        "inspect",
        "gc",
        "ctypes",
        "pickle",
        "shelve",
        "sqlite3",
        "tempfile",
        "shutil",
        "pathlib",
        "urllib",
        "requests",
        "http",
        "importlib",
        "asyncio",
        "concurrent",
        "signal",
        "joblib",
        "dill",
        "cloudpickle",
        "marshal",
        "weakref",
        "faulthandler",
        "traceback",
        "tracemalloc",
        "resource",
        "platform",
        "uuid",
        "secrets",
        "timeit",
        "fileinput",
        "glob",
        "linecache",
        "zipfile",
        "gzip",
        "bz2",
        "lzma",
        "tarfile",
        "mmap",
        "runpy",
        "codecs",
        "dbm",
        "smtplib",
        "ftplib",
        "syslog",
    ]
)
_FUNCTIONS: Final = frozenset(
    [
        "type",
        "open",
        "eval",
        "exec",
        "compile",
        "globals",
        "locals",
        "vars",
        "__import__",
        "id",
        "input",
        "breakpoint",
        "delattr",
        "setattr",
        "hash",
        "exit",
        "quit",
        "dir",
    ]
)
_ATTRIBUTES: Final = {
    "seed": "it starts a generator from a fixed number",
    "set_state": "it sets the state of a generator",
    "now": "it reads the clock",
    "today": "it reads the clock",
    "utcnow": "it reads the clock",
    "simplefilter": "a warning that depends on data may become an error",
    "filterwarnings": "a warning that depends on data may become an error",
    **dict.fromkeys(["seterrcall", "showwarning", "formatwarning"], "an error that depends on data tells of them"),
    **dict.fromkeys(["is_", "is_not"], "a trace sees other objects: compare with =="),
    "empty_like": "it shows what happens to lie in memory: use np.zeros",
    "singledispatch": "it asks for the class of what is followed: use if",
    **dict.fromkeys(
        [
            "setLevel",
            "set_option",
            "options",
            "set_printoptions",
            "getcontext",
            "setcontext",
            "addFilter",
            "addHandler",
        ],
        "a setting is kept from one call to the next",
    ),
    **dict.fromkeys(
        [
            "__mro__",
            "__bases__",
            "__subclasses__",
            "__getattribute__",
            "__slots__",
            "__sizeof__",
            "__dir__",
            "__module__",
            "__setattr__",
            "__delattr__",
        ],
        "it looks inside of objects",
    ),
    **dict.fromkeys(
        [
            "load",
            "loadtxt",
            "genfromtxt",
            "fromfile",
            "memmap",
            "read_csv",
            "read_parquet",
            "read_excel",
            "read_json",
            "read_feather",
            "read_pickle",
            "read_sql",
            "scan_csv",
            "scan_parquet",
        ],
        "it reads a file",
    ),
    **dict.fromkeys(
        [
            "save",
            "savez",
            "savez_compressed",
            "savetxt",
            "tofile",
            "to_csv",
            "to_parquet",
            "to_pickle",
            "to_excel",
            "to_json",
            "to_feather",
            "to_sql",
            "write_csv",
            "write_parquet",
            "dump",
        ],
        "it writes a file",
    ),
    **dict.fromkeys(
        [
            "__dict__",
            "__array_interface__",
            "__array_struct__",
            "__closure__",
            "__globals__",
            "__code__",
            "f_locals",
            "f_globals",
        ],
        "it looks inside of objects",
    ),
}
_KEEPING: Final = ("STORE_GLOBAL", "DELETE_GLOBAL")


@final
@dataclass(slots=True)
class Reached:
    """What a function reaches.

    Attributes:
        home: the folder of the function, where it is installed among libraries; None where it is not.
        files: of the user's code.
        modules: the names of each module of the user's code.
        read: the names of the modules that the code uses, beside functions and modules.
        refused: what cannot be followed; None if there is nothing.
        codes: of all functions.
        catching: the statements that may catch an exception, of each file.
        generators: that code finds ready-made, in a module or as the default of a parameter.
        kept: the attributes of functions and classes, which must not change either.
    """

    home: str | None = None
    files: set[str] = field(default_factory=set)
    modules: list[dict[str, Any]] = field(default_factory=list)
    read: dict[str, Any] = field(default_factory=dict)
    refused: str | None = None
    codes: list[types.CodeType] = field(default_factory=list)
    catching: dict[str, Blocks | None] = field(default_factory=dict)
    generators: list[ReadyMade] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)


def _home(function: Any) -> str | None:
    """The folder of a function that is installed among libraries."""
    while isinstance(function, functools.partial):
        function = function.func
    call: Any = getattr(type(function), "__call__", None)  # noqa: B004
    code: Any = getattr(function, "__code__", None) or getattr(call, "__code__", None)
    if code is None or not is_library(code.co_filename):
        return None
    return os.path.dirname(os.path.realpath(str(code.co_filename)))


def is_library(filename: str, home: str | None = None) -> bool:
    """Whether a file belongs to an installed library, or to Python itself; not one in the folder ``home``."""
    if home is not None and os.path.realpath(filename).startswith(home + os.sep):
        return False
    if filename.startswith("<"):
        return filename.startswith("<frozen") or filename.startswith("<__array_function__")  # noqa: PIE810
    path = os.path.realpath(filename)
    return any(path.startswith(folder + os.sep) for folder in _FOLDERS)


_FOLDERS: Final = tuple(
    {os.path.realpath(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {os.path.realpath(os.path.dirname(os.path.dirname(np.__file__)))}
    | {os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "..", folder)) for folder in
       ("audit", "mechanisms", "proofs", "src")}
)  # fmt: skip


def reach(function: Any) -> Reached:
    """All that a function reaches, without running it."""
    found = Reached(home=_home(function))
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting and found.refused is None:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        waiting += _inner(one, found)
    found.refused = found.refused or next(filter(None, (seeded(tree_of(one)) for one in sorted(found.files))), None)
    return found


def _inner(one: Any, found: Reached) -> Iterator[Any]:
    """Note what a function, a class or an object holds; gives what is to be looked at next."""
    if isinstance(one, functools._lru_cache_wrapper):
        found.refused = (
            f"{getattr(one, '__name__', 'a function')} keeps its results from one call to the next (a cache)"
        )
        return
    if isinstance(one, functools.partial):
        yield one.func
        yield from (value for value in (*one.args, *one.keywords.values()) if callable(value))
    elif isinstance(one, types.MethodType):
        yield one.__func__
        found.read[f"{type(one.__self__).__name__}.self"] = one.__self__
        yield type(one.__self__)
    elif isinstance(one, types.FunctionType):
        if hasattr(one, "registry") and hasattr(one, "dispatch"):
            found.refused = f"{one.__name__} asks for the class of what is followed (singledispatch): use if"
            return
        if hasattr(one, "__wrapped__"):
            yield one.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]
        if not is_library(one.__code__.co_filename, found.home):
            yield from _of_function(one, found)
    elif isinstance(one, type):
        file = getattr(sys.modules.get(one.__module__), "__file__", None)
        if one.__module__ in ("builtins",) or (file is not None and is_library(file, found.home)):
            return
        called, by_the_library = one.__name__, dataclasses.is_dataclass(one)
        found.kept[f"the class {called} ({len(found.kept)})"] = _Attributes(one)
        for name, value in vars(one).items():
            if is_generator(value):
                found.generators.append(ReadyMade(f"{called}.{name}", value, None, str(file)))
            plain = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            written = by_the_library and name.startswith("__")  # by the standard library
            if isinstance(plain, types.FunctionType) and not (written and plain.__code__.co_filename == "<string>"):
                yield plain
    elif callable(one) and not isinstance(one, types.BuiltinFunctionType):
        kind = type(one)
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if file is not None and not is_library(file, found.home):
            found.read[f"{kind.__name__}.self"] = one
            yield kind


def _of_function(function: types.FunctionType, found: Reached) -> Iterator[Any]:
    code, names = function.__code__, function.__globals__
    found.files.add(code.co_filename)
    found.kept[f"an attribute of {function.__name__} ({len(found.kept)})"] = _Attributes(function)
    if all(names is not one for one in found.modules):
        found.modules.append(names)
    held = [one for _, one in of_defaults(function)]
    held += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    if any(one is asked for one in held for asked in (isinstance, hasattr, getattr, len)):
        found.refused = found.refused or f"{function.__name__} has a function of Python under another name: use its own"
    for name, value in of_defaults(function):
        if is_generator(value):
            found.generators.append(ReadyMade(name, value, names, code.co_filename, default_of=function))
        else:
            found.read[f"a default of {function.__name__}"] = value
    if code.co_filename not in found.catching:
        found.catching[code.co_filename] = blocks(tree_of(code.co_filename))
    catching = found.catching[code.co_filename]
    free = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            free[name] = cell.cell_contents
        except ValueError:
            continue
    for inner in _codes(code):
        found.codes.append(inner)
        found.refused = found.refused or _refused(inner, names, free if inner is code else {}, code)
        found.refused = found.refused or caught(inner, names | free, catching)
        found.refused = found.refused or _changed(inner, names | free, tree_of(code.co_filename))
        for name in inner.co_names:
            if name in names:
                if is_generator(names[name]):
                    found.generators.append(ReadyMade(name, names[name], names, code.co_filename))
                else:
                    yield from _named(name, names[name], found, inner.co_names)
    for name, value in free.items():
        if is_generator(value):
            found.generators.append(ReadyMade(name, value, None, code.co_filename))
        else:
            yield from _named(name, value, found)


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _named(name: str, value: Any, found: Reached, used: Sequence[str] = ()) -> Iterator[Any]:
    if isinstance(value, types.ModuleType):
        file = getattr(value, "__file__", None)
        if file is not None and not is_library(
            file, found.home
        ):  # a module of the user's: any of its functions may be called
            own = vars(value)
            yield from (one for one in own.values() if isinstance(one, types.FunctionType | type))
            for one in used:
                held = own.get(one)
                plain = isinstance(held, types.ModuleType | types.FunctionType | type) or held is None
                if not plain and not is_generator(held):
                    found.read[f"{name}.{one}"] = held
            ready = [one for one in used if is_generator(own.get(one))]
            found.generators += [ReadyMade(one, own[one], own, file) for one in ready]
            if ready and all(own is not one for one in found.modules):
                found.modules.append(own)
                found.files.add(file)
        return
    if isinstance(
        value, types.FunctionType | type | functools.partial | types.MethodType | functools._lru_cache_wrapper
    ):
        yield value
        return
    found.read[name] = value
    if callable(value):
        yield value


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _codes(one)


@final
class _Attributes:
    """Stands for the attributes of a function or a class, where they are to be compared."""

    def __init__(self, of: Any) -> None:
        self.of: Any = of


def _changed(code: types.CodeType, names: dict[str, Any], tree: ast.Module) -> str | None:
    """Where a code object sets an attribute, or an item, of a module, a class or a function, which keep it."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    modules = {name for name, value in names.items() if isinstance(value, types.ModuleType)}
    local = set(code.co_varnames)
    setting = False
    for node in ast.walk(tree):
        if getattr(node, "lineno", None) not in lines:
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules |= {(one.asname or one.name).partition(".")[0] for one in node.names} & local
        if not isinstance(node, ast.Attribute | ast.Subscript) or not isinstance(node.ctx, ast.Store | ast.Del):
            continue
        setting = setting or isinstance(node, ast.Attribute)
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        if isinstance(inner, ast.Name):
            value = None if inner.id in local and inner.id not in modules else names.get(inner.id)
            if inner.id in modules or isinstance(value, types.ModuleType | types.FunctionType | type):
                return f"line {node.lineno}: {inner.id} is changed, which keeps it from one call to the next: return it"
    if not setting:
        return None
    for node in ast.walk(tree):  # a module under another name
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.lineno in lines and (
            node.value.id in modules
        ):  # fmt: skip
            return f"line {node.lineno}: {node.value.id} under another name, where attributes are set: use its own name"
    return None


def _refused(code: types.CodeType, names: dict[str, Any], free: dict[str, Any], outer: types.CodeType) -> str | None:
    line = code.co_firstlineno
    former = ""  # what was loaded just before
    for step in dis.get_instructions(code):
        line = step.starts_line if isinstance(step.starts_line, int) and step.starts_line is not True else line
        if getattr(step, "line_number", None):
            line = step.line_number  # type: ignore[attr-defined]  # since Python 3.13
        at = f"line {line}"
        name = step.argval if isinstance(step.argval, str) else ""
        if step.opname in _KEEPING:
            return f"{at}: {name} is kept from one call to the next: return it instead"
        if step.opname in ("STORE_DEREF", "DELETE_DEREF") and name in outer.co_freevars:
            return f"{at}: {name} is kept from one call to the next: return it instead"
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
            value = free.get(name, names.get(name, getattr(builtins, name, None)))
            if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] in {*_MODULES, "builtins"}:
                return f"{at}: {value.__name__} goes around the trace: hand over what is needed as an argument"
            if getattr(builtins, name, None) is value and name in _FUNCTIONS:
                return f"{at}: {name}() goes around the trace"
            module = getattr(value, "__module__", None)
            if isinstance(module, str) and module.partition(".")[0] in _MODULES and not isinstance(value, type(None)):
                return f"{at}: {module}.{name} goes around the trace"
        if step.opname == "IMPORT_NAME" and name.partition(".")[0] in {*_MODULES, "builtins"}:
            return f"{at}: {name} goes around the trace"
        if step.opname.startswith("MATCH_"):
            return (
                f"{at}: a match by class or shape, of which data and numbers that are followed say other things: use if"
            )
        if step.opname == "IS_OP" and former != "a constant":
            return f"{at}: whether two things are one object, of which a trace sees others: compare with =="
        if name.startswith("_dpv") or any(
            one.startswith("_dpv") or one in ("__module__", "__class__", "__mro__", "__slots__", "__dict__")
            for one in _texts(code)
        ):
            return f"{at}: it looks inside of what is followed"
        if name == "__class__" and step.opname in ("LOAD_ATTR", "LOAD_METHOD") and former not in ("self", "cls"):
            return f"{at}: .__class__ is not covered: it looks inside of objects"
        former = "a constant" if step.opname == "LOAD_CONST" else str(step.argval)
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and name in _ATTRIBUTES:
            return f"{at}: .{name} is not covered: {_ATTRIBUTES[name]}"
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and name.startswith(("read_", "scan_", "sink_")):
            return f"{at}: .{name} is not covered: it reads or writes a file"
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and name in ("errstate", "seterr") and (
            {"raise", "call", "print", "log"} & set(_texts(code))
        ):  # fmt: skip
            return f"{at}: .{name}: an error that depends on data tells of them: use 'ignore'"
    return None


def _texts(code: types.CodeType) -> Iterator[str]:
    for one in code.co_consts:
        if isinstance(one, str):
            yield one
        elif isinstance(one, tuple):
            yield from (part for part in one if isinstance(part, str))


# decisions after a noised value has left ------------------------------------------------------------------------------


def decides_later(code: types.CodeType, at: int, names: dict[str, Any], files: frozenset[str]) -> str | None:
    """What a code decides after the place where it is; None if it runs straight on.

    Loops are decisions: how often they run may depend on what left. A test for None is none.
    """
    steps = list(dis.get_instructions(code))
    starts = [at]
    # a loop that is still running jumps back: what it repeats comes later, too
    for step in steps:
        if step.offset > at and "BACKWARD" in step.opname and isinstance(step.argval, int) and step.argval <= at:
            starts.append(step.argval)
    first = min(starts)
    for step in steps:
        if step.offset <= at and not (first < at and step.offset >= first):
            continue
        found = _decision(step, code, names, files, set())
        if found is not None:
            return found
    return None


def _decision(
    step: dis.Instruction, code: types.CodeType, names: dict[str, Any], files: frozenset[str], seen: set[int]
) -> str | None:
    name = step.opname
    if ("JUMP" in name and "IF" in name and "NONE" not in name) or name in ("FOR_ITER", "SEND", "CHECK_EXC_MATCH"):
        return "a loop" if name in ("FOR_ITER", "SEND") else "a decision"
    if name.startswith("MATCH_") or name in ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"):
        return "a decision"
    if name == "BINARY_SUBSCR" or (name == "BINARY_OP" and step.argrepr == "[]"):
        return "an index"
    inner: list[types.CodeType] = []
    if isinstance(step.argval, types.CodeType):
        inner.append(step.argval)
    if name in ("LOAD_GLOBAL", "LOAD_NAME") and isinstance(step.argval, str):
        value = names.get(step.argval)
        if isinstance(value, types.FunctionType) and value.__code__.co_filename in files:
            inner.append(value.__code__)
    for one in inner:
        if id(one) in seen:
            continue
        seen.add(id(one))
        for each in dis.get_instructions(one):
            found = _decision(each, one, names, files, seen)
            if found is not None:
                return found
    return None


# what is kept ---------------------------------------------------------------------------------------------------------


def fingerprint(value: Any, depth: int = 40, seen: set[int] | None = None) -> object:
    """What a value is made of, to see whether a run has changed it."""
    seen = set() if seen is None else seen
    if hasattr(type(value), "_dpv_tape") or hasattr(type(value), "_dpv_parts"):
        return "something that is followed"
    if isinstance(value, bool | int | float | str | bytes | complex | type(None)):
        return repr(value)
    if issubclass(type(value), np.ndarray):
        return (value.shape, value.dtype.str, hash(value.tobytes()))
    if depth == 0 or id(value) in seen:
        return type(value).__name__
    seen.add(id(value))
    if type(value) is _Attributes:
        held = [(name, one) for name, one in vars(value.of).items() if not _is_code(one)]
        return tuple((name, fingerprint(one, depth - 1, seen)) for name, one in held if not name.startswith("__"))
    if isinstance(value, dict):
        return tuple((fingerprint(k, depth - 1, seen), fingerprint(v, depth - 1, seen)) for k, v in list(value.items()))
    if isinstance(value, list | tuple | set | frozenset | collections.deque):
        return (type(value).__name__, *(fingerprint(one, depth - 1, seen) for one in value))
    if type(value).__module__.partition(".")[0] in ("pandas", "polars"):
        return _of_a_table(value, depth, seen)
    if isinstance(value, types.FunctionType):
        return fingerprint(vars(value), depth - 1, seen) if vars(value) else id(value)
    inner = dict(getattr(value, "__dict__", None) or {}) if not isinstance(value, type | types.ModuleType) else {}
    for kind in inspect.getmro(type(value)):
        slots: Any = vars(kind).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if isinstance(name, str) and not name.startswith("__") and hasattr(value, name):
                inner[name] = getattr(value, name)
    if inner:
        return (id(value), fingerprint(inner, depth - 1, seen))
    return (id(value), _written(value))


def _is_code(value: object) -> bool:
    kinds = (types.FunctionType, type, staticmethod, classmethod, property, types.MemberDescriptorType,
             types.GetSetDescriptorType)  # fmt: skip
    return isinstance(value, kinds)


def _of_a_table(value: Any, depth: int, seen: set[int]) -> object:
    """What stands in a frame, a series or an index."""
    try:
        columns = list(getattr(value, "columns", ()))
        if len(getattr(value, "shape", ())) == 2:
            parts = [value.iloc[:, i] if hasattr(value, "iloc") else value[:, i] for i in range(len(columns))]
            entries = [np.asarray(one.to_numpy()) for one in parts]
        else:
            entries = [np.asarray(value.to_numpy())]
        index = getattr(value, "index", None)
        labels = np.asarray(index.to_numpy()) if hasattr(index, "to_numpy") else None  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    except Exception:  # something else than a table
        return id(value)
    whole = [columns, *(one.tolist() if one.dtype == object else one for one in [*entries, labels] if one is not None)]
    return (type(value).__name__, fingerprint(whole, depth - 1, seen))


def _written(value: object) -> object:
    """The bytes of an object of a library; None where it has none."""
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if type(value).__module__ in ("array", "decimal", "fractions", "datetime"):
        return repr(value)
    return None
