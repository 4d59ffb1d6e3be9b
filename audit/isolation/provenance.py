"""Provenance: all that a run rested on. A result that was kept is taken up again only while all of that is as it was.

A `Recorder` watches the interpreter from before the user's code is loaded. `Recorder.provenance` says what was used:

* every module that was loaded: one of an installed distribution by the version and the hash of its RECORD, any other by
  its content, this package among them;
* every file that was opened for reading, by its content, and that a file was absent;
* every folder that was listed, by the names in it;
* where a module was searched before it was found, or was not found: it must still not be there.

Whoever starts a program, opens a connection or a database, forks by itself, or loads a library that reads files behind
Python's back uses something that is not seen: then the provenance says so, and the result cannot be kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.machinery
import importlib.metadata
import json
import os
import re
import site
import sys
import sysconfig
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final, final

UNSEEN: Final[Mapping[str, str]] = {
    "subprocess.Popen": "it starts another program",
    "os.system": "it starts another program",
    "os.exec": "it starts another program",
    "os.posix_spawn": "it starts another program",
    "os.startfile": "it starts another program",
    "pty.spawn": "it starts another program",
    "os.fork": "it forks",
    "os.forkpty": "it forks",
    "socket.connect": "it uses the network",
    "socket.bind": "it uses the network",
    "socket.sendto": "it uses the network",
    "sqlite3.connect": "it opens a database",
}
"""Audit events after which something may be used that is not seen, and how to say it."""

NETWORK: Final = "it uses the network"

READERS: Final = ("h5py", "pyarrow", "netCDF4", "tables", "duckdb", "polars", "fastparquet", "zarr", "lmdb", "cv2")
"""Libraries that read files of data without Python's own ``open``."""

_ARROW: Final = "pyarrow"
_ARROW_IN_MEMORY: Final = frozenset(
    {"_compute", "_compute_docstrings", "_generated_version", "compute", "ipc", "lib", "pandas_compat", "types", "util",
     "vendored"}
)  # fmt: skip
"""The modules of pyarrow that pandas loads to hold columns in memory. What pandas reads files with is in others."""
_ARROW_READS: Final = re.compile(
    rb"OSFile|memory_map|MemoryMappedFile|input_stream|open_file|open_stream|RecordBatch(?:File|Stream)Reader"
)
"""What opens a file in those; an installed library that names one of them may. Of other code the bare word counts."""

_ON_PURPOSE: Final = ("dpverdict.audit.isolation.child", "forked")
"""Where this package makes copies of a process; the module is not imported here, as little is before a recorder."""

_CORES: Final = ("joblib.externals.loky.backend.context", "_count_physical_cores")
"""Where joblib starts a program that counts the cores."""

_NO_DATA: Final = ("/proc/", "/sys/", "/dev/")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a result rests on.

    Attributes:
        python: version and platform of the interpreter.
        distributions: name to version and SHA-256 of RECORD.
        files: path to SHA-256 of the content; None for a file that was looked for and was absent.
        folders: path to SHA-256 of the sorted names.
        not_there: names of modules, with the folders in which they were not.
        unseen: why the result cannot be kept; None if it can.
    """

    python: str
    distributions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, str | None] = field(default_factory=dict)
    folders: Mapping[str, str | None] = field(default_factory=dict)
    not_there: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unseen: str | None = None

    def to_json(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "python": self.python,
            "distributions": {name: list(found) for name, found in self.distributions.items()},
            "files": dict(self.files),
            "folders": dict(self.folders),
            "not_there": {name: list(found) for name, found in self.not_there.items()},
            "unseen": self.unseen,
        }

    def merge(self, former: Provenance) -> Provenance:
        """Both: of a run that took up the trials of a former one."""
        return Provenance(
            python=self.python,
            distributions={**former.distributions, **self.distributions},
            files={**former.files, **self.files},
            folders={**former.folders, **self.folders},
            not_there={**former.not_there, **self.not_there},
            unseen=self.unseen or former.unseen,
        )

    def changed(self) -> str | None:
        """What is not as it was, or was never seen, in words; None if everything is."""
        if self.unseen is not None:
            return self.unseen
        if self.python != python_version():
            return f"Python was {self.python}"
        for name, was in self.distributions.items():
            if _distribution_record(name) != tuple(was):
                return f"the package {name} was another one"
        for path, content in self.files.items():
            if file_hash(path) != content:
                return f"{path} was changed"
        for path, names in self.folders.items():
            if _names_hash(path) != names:
                return f"the folder {path} holds other names"
        for name, folders in self.not_there.items():
            for folder in folders:
                if _is_there(name, folder):
                    return f"there is a module {name} in {folder} now"
        return None


def read_provenance(fields: object) -> Provenance:
    """The provenance that `Provenance.to_json` wrote.

    Raises:
        ValueError: anything else.
    """
    parts = ("python", "distributions", "files", "folders", "not_there", "unseen")
    if not isinstance(fields, dict) or set(fields) != set(parts):
        raise ValueError("this is no provenance")
    found: dict[str, Any] = fields
    if not all(isinstance(found[name], dict) for name in parts[1:5]) or not isinstance(found["python"], str):
        raise ValueError("this is no provenance")
    return Provenance(**found)


def python_version() -> str:
    """The interpreter and the machine it is for."""
    return f"{sys.implementation.name} {sys.version.split()[0]} {sysconfig.get_platform()}"


def file_hash(path: str) -> str | None:
    """SHA-256 of a file, which may be large; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


@lru_cache(maxsize=1)
def package_hash() -> str:
    """SHA-256 of the names and the contents of the files of this package."""
    root = Path(__file__).parents[2]
    found = hashlib.sha256()
    for folder, folders, names in os.walk(root, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            found.update(f"{os.path.relpath(path, root)}: {file_hash(path)}\n".encode())
    return found.hexdigest()


def _names_hash(folder: str) -> str | None:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def _is_there(module: str, folder: str) -> bool:
    path = os.path.join(folder, module.rpartition(".")[2])
    return os.path.isdir(path) or any(os.path.exists(path + end) for end in importlib.machinery.all_suffixes())


def _distribution_record(name: str) -> tuple[str, str] | None:
    """Version and hash of the RECORD of an installed distribution.

    Only `_site_folders` are searched: a build leaves metadata of the same name in the folder of the sources, which may
    be the current folder of one process and not of another.
    """
    try:
        found = next(iter(importlib.metadata.distributions(name=name, path=list(_site_folders()))))
        return found.version, hashlib.sha256((found.read_text("RECORD") or "").encode()).hexdigest()
    except (StopIteration, OSError):
        return None


@final
class Recorder:
    """Watches what the interpreter uses, while it is `recording`; there is one, from before user code is loaded.

    An audit hook cannot be taken away again, so it is for a process that ends with its work.

    Args:
        network: whether connections are expected, because the trials run on a cluster.
        own: a folder of our own, whose files are not part of the provenance; None if there is none.
    """

    def __init__(self, *, network: bool = False, own: str | None = None) -> None:
        self._no_data = (*_NO_DATA, *([] if own is None else [os.path.abspath(own) + os.sep]))
        self._active, self._network, self._own = False, network, threading.local()
        self._stats: dict[str, tuple[int, ...] | None] = {}
        self._written: set[str] = set()
        self._folders: set[str] = set()
        self._imports: set[str] = set()
        self._unseen: str | None = None
        self._hashes: dict[str, tuple[tuple[int, ...] | None, str | None]] = {}
        self._names_arrow: dict[str, bool] = {}
        for module in list(sys.modules.values()):
            self._loaded(_file_of(module))
        sys.addaudithook(self._hook)

    @contextlib.contextmanager
    def recording(self) -> Generator[None]:
        """Record what is used inside."""
        self._active = True
        try:
            yield
        finally:
            self._active = False

    @property
    def size(self) -> int:
        """Grows with what is recorded: while it stays, so does the provenance."""
        return len(self._stats) + len(self._folders) + len(self._imports) + (self._unseen is not None)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._active or getattr(self._own, "looking", False):
            return
        try:
            if event == "open":
                self._open(*arguments)
            elif event in ("os.listdir", "os.scandir", "glob.glob"):
                self._listed(event, arguments[0])
            elif event == "exec":  # of a module, just read; of other code there is no file
                self._loaded(getattr(arguments[0], "co_filename", None))
            elif event == "import":
                self._imports.add(str(arguments[0]))
            elif event in UNSEEN and self._unseen is None and not (self._network and UNSEEN[event] == NETWORK):
                self._unseen = None if _tells_no_data(event) else UNSEEN[event]
        except Exception as error:  # a hook that raises would stop the user's code
            self._unseen = f"what it uses could not be followed ({type(error).__name__})"

    def _open(self, path: object, mode: object, flags: object) -> None:
        if not isinstance(path, str | bytes | os.PathLike):  # a descriptor: of a file that was opened before
            return
        where = os.path.abspath(os.fsdecode(path))
        if where in self._stats or where.startswith((*installed_folders(), *self._no_data)):
            return
        if os.path.basename(os.path.dirname(where)) == "__pycache__":
            return
        if mode is None:  # os.open says what it is for by flags alone
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR) != 0
            only = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_TRUNC) != 0
        else:
            writes = any(letter in str(mode) for letter in "wax+")
            only = any(letter in str(mode) for letter in "wx") or ("a" in str(mode) and "+" not in str(mode))
        if only or (writes and not os.path.exists(where)):
            self._written.add(where)
        elif where not in self._written:
            self._stats[where] = _state(where)

    def _loaded(self, file: str | None) -> None:
        """The state of a module's file when it was loaded: a later one is not what runs."""
        if (
            file
            and not file.startswith("<")
            and os.path.isabs(file)
            and not file.startswith((*_site_folders(), *_standard_library_folders()))
        ):
            self._stats.setdefault(file, _state(file))

    def _listed(self, event: str, folder: object) -> None:
        if not isinstance(folder, str | bytes | os.PathLike | None):
            return
        frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  # the stack has no other name
        caller = frame.f_globals.get("__name__", "")
        if str(caller).startswith(("importlib", "_frozen_importlib")):
            return  # to find modules: `not_there` is about them
        where = os.path.abspath(os.fsdecode(folder or "."))
        if event == "glob.glob":
            return  # it lists the folder by scandir
        if not (where + os.sep).startswith((*installed_folders(), *self._no_data)):
            self._folders.add(where)

    def provenance(self) -> Provenance:
        """What was used so far."""
        self._own.looking = True
        try:
            return self._grounds()
        finally:
            self._own.looking = False

    def _grounds(self) -> Provenance:
        unseen = self._unseen
        distributions: dict[str, tuple[str, str]] = {}
        files: dict[str, str | None] = {}
        for name, module in sorted(sys.modules.items()):
            if unseen is None and name in READERS:
                by = self._user_of_arrow() if name == _ARROW else name
                unseen = None if by is None else f"it loads {by}, which reads files by itself"
            file = _file_of(module)
            if file is None:
                continue
            of = distribution_of(file)
            if of is not None and of not in distributions:
                found = _distribution_record(of)
                if found is not None:
                    distributions[of] = found
            if of in distributions:
                continue
            if not file.startswith(_standard_library_folders()):
                files[file] = self._hash(file)
                if files[file] is None and unseen is None:
                    unseen = f"the module {name} cannot be read again from {file}"
        for path, state in sorted(self._stats.items()):
            if os.path.isdir(path):
                continue
            if path not in files:
                files[path] = self._hash(path)
            if unseen is None and state != _state(path):
                unseen = f"{path} changed while it was used"
        return Provenance(
            python=python_version(),
            distributions=distributions,
            files=files,
            folders={path: _names_hash(path) for path in sorted(self._folders)},
            not_there=self._not_there(),
            unseen=unseen,
        )

    def _user_of_arrow(self) -> str | None:
        """pyarrow, and who uses it; None if it was loaded by pandas alone, which then holds columns in it.

        What pandas reads with it (`read_parquet`, `read_feather`, the engine of `read_csv`) loads a module that is not
        loaded otherwise. Code of others has to name it in order to open a file: then what it does is not known.
        """
        if "pandas" not in sys.modules:
            return _ARROW
        for name, module in list(sys.modules.items()):
            top, _, rest = name.partition(".")
            if top == _ARROW:
                if rest and rest.partition(".")[0] not in _ARROW_IN_MEMORY:
                    return name
            elif top != "pandas":
                file = _file_of(module)
                if file is not None and not file.startswith(_own_folder()) and self._has_arrow(file):
                    return f"{_ARROW} by {name}"
        return None

    def _has_arrow(self, file: str) -> bool:
        if file not in self._names_arrow:
            try:
                content, installed = Path(file).read_bytes(), file.startswith(_site_folders())
                found = _ARROW.encode() in content and (not installed or _ARROW_READS.search(content) is not None)
                self._names_arrow[file] = found
            except OSError:
                self._names_arrow[file] = True
        return self._names_arrow[file]

    def _hash(self, path: str) -> str | None:
        """The hash of a file, looked up while the file is as it was."""
        state = _state(path)
        if path not in self._hashes or self._hashes[path][0] != state:
            self._hashes[path] = state, file_hash(path)
        return self._hashes[path][1]

    def _not_there(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self._imports):
            parent, _, _ = name.rpartition(".")
            around = sys.modules.get(parent)
            path = [*_FIRST, *sys.path] if not parent else list(getattr(around, "__path__", ()))
            file = _file_of(sys.modules.get(name))
            folders = []
            for folder in map(os.path.abspath, path):
                if file is not None and file.startswith(folder + os.sep) and _is_there(name, folder):
                    break
                installed = (folder + os.sep).startswith(installed_folders()) or folder.endswith(".zip")
                if not installed and not _is_there(name, folder):
                    folders.append(folder)
            if folders:
                found[name] = folders
        return found


_FIRST: Final[list[str]] = []


def search_first(folder: str) -> None:
    """Say that the user's code finds modules in this folder before any on ``sys.path``."""
    _FIRST.insert(0, folder)


def _tells_no_data(event: str) -> bool:
    """Whether an event is the copy that `in_a_child` makes, to run again what this process runs as well.

    Or joblib counting the cores of the machine, by a program, for the trees that tell outcomes apart: like ``/proc``.
    """
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  # the stack has no other name
    if event == "os.fork":
        return frame is not None and (frame.f_globals.get("__name__"), frame.f_code.co_name) == _ON_PURPOSE
    while event == "subprocess.Popen" and frame is not None and frame.f_globals.get("__name__") == "subprocess":
        frame = frame.f_back
    if frame is None or event != "subprocess.Popen":
        return False
    return frame.f_globals.get("__name__") == _CORES[0] and frame.f_code.co_name.startswith(_CORES[1])


def _state(path: str) -> tuple[int, ...] | None:
    """What shows that a file was written; None if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _file_of(module: ModuleType | None) -> str | None:
    """The file of a module; None for one without, such as one that is built in."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return None
    if not os.path.exists(file) and ".zip" in file:
        file = file[: file.index(".zip") + 4]
    return os.path.abspath(file)


@lru_cache(maxsize=1)
def _site_folders() -> tuple[str, ...]:
    """The folders of installed distributions, each with a separator at its end."""
    found = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()}
    found |= {entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))}
    return tuple(sorted(os.path.abspath(entry) + os.sep for entry in found))


@lru_cache(maxsize=1)
def _standard_library_folders() -> tuple[str, ...]:
    """The folders of the standard library, which go with the version of Python; `_site_folders` may lie within."""
    found = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    return tuple(sorted(os.path.abspath(entry) + os.sep for entry in found))


@lru_cache(maxsize=1)
def installed_folders() -> tuple[str, ...]:
    """Folders whose files are not data."""
    return (*_site_folders(), *_standard_library_folders(), _own_folder())


@lru_cache(maxsize=1)
def _own_folder() -> str:
    """The folder of this package."""
    return os.path.abspath(Path(__file__).parents[2]) + os.sep


def distribution_of(file: str) -> str | None:
    """The installed distribution that a file belongs to; None if there is none."""
    for folder in _site_folders():
        if file.startswith(folder):
            top = file[len(folder) :].split(os.sep)[0]
            return _owners_of_files(folder).get(top)
    return None


@lru_cache(maxsize=8)
def _owners_of_files(folder: str) -> dict[str, str]:
    """Which distribution the files and folders of a folder of installed distributions belong to."""
    found: dict[str, str] = {}
    for one in importlib.metadata.distributions(path=[folder]):
        record = one.read_text("RECORD")
        if record is None or "Name" not in one.metadata:
            continue
        name = one.metadata["Name"]
        for line in record.splitlines():
            found[line.partition(",")[0].partition("/")[0]] = name
    return found
