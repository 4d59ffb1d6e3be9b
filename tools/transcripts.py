"""Run the commands whose output the README and the docs show, and write that output into them.

A transcript is a fenced block after a mark that names the command and how many of its first lines are shown:

    <!-- transcript: dpverdict audit standard-gaussian --dim 9 --mu 1 --no-test | first 6 -->
    ```text
    ...
    ```

A console block names its command itself. The commands of one page run in order, in one scratch folder that holds a
copy of examples/:

    <!-- console: first 6 -->            or    <!-- console: first 6, exit code -->
    ```console
    $ dpverdict audit standard-gaussian --dim 9 --mu 1 --no-test
    ...
    ```

A block after ``<!-- file: PATH -->`` shows that file of the repository. A block after ``<!-- benchmark: COMMAND -->``
is rewritten with ``--benchmarks`` only: its numbers belong to one run on one machine and are not checked.

Usage: python tools/transcripts.py               rewrite the transcripts
       python tools/transcripts.py PAGE ...      those of some pages
       python tools/transcripts.py --benchmarks  rewrite the benchmarks too
       python tools/transcripts.py --check       exit with 1 if a transcript is not what its command prints
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

from dpverdict.audit.isolation.child import in_a_child

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
KINDS: Final = {
    "transcript": r"<!-- transcript: (?P<command>.+?) \| first (?P<lines>\d+) -->\n```text\n",
    "console": r"<!-- console: first (?P<shown>\d+)(?P<code>, exit code)? -->\n```console\n\$ (?P<typed>.+?)\n",
    "file": r"<!-- file: (?P<path>\S+) -->\n```\w+\n",
}
BLOCK: Final = re.compile(
    rf"^(?P<mark>{'|'.join(KINDS.values())})(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MEASURED: Final = re.compile(
    r"^(?P<mark><!-- benchmark: (?P<command>.+?) -->\n```text\n)(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
WIDTH: Final = 100
IMPORTED: Final = (
    "dpverdict.audit.runs.subprocesses.audit",
    "dpverdict.audit.trials.catalogue",
    "dpverdict.cli.application",
)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command as it runs in a plain terminal of `WIDTH` columns.

    A command of dpverdict runs in a copy of this process, which has imported what most of them need: that takes longer
    than most of them.
    """
    arguments = shlex.split(command)
    environment = os.environ | {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST", "SOURCE_DATE_EPOCH"):
        environment.pop(name, None)  # those of the tests that run this
    if arguments[0] == "dpverdict":
        for module in IMPORTED:
            importlib.import_module(module)
        found = in_a_child(lambda: _in_this_process(arguments, folder, environment), kind=tuple, seconds=1800)
        done = subprocess.CompletedProcess(arguments, *found)
    else:
        if arguments[0] in ("python", "pytest"):
            arguments[0:1] = [str(Path(sys.executable).parent / arguments[0])]
        pipes: Any = {"capture_output": True, "encoding": "utf-8"}
        done = subprocess.run(arguments, cwd=folder, env=environment, check=False, **pipes)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{command} failed: {done.stdout}{done.stderr}")
    return done


def _in_this_process(arguments: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str, str]:
    """Exit code, output and errors of a command of dpverdict; nothing of this process is left as it was."""
    from dpverdict.cli.application import main

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    warnings.resetwarnings()
    texts = []
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as told:
        for descriptor, (name, file) in enumerate((("stdout", printed), ("stderr", told)), start=1):
            os.dup2(file.fileno(), descriptor)
            setattr(sys, name, os.fdopen(descriptor, "w", encoding="utf-8", closefd=False))
        code = main()
        for stream, file in ((sys.stdout, printed), (sys.stderr, told)):
            stream.flush()
            file.seek(0)
            texts.append(file.read().decode("utf-8"))
    return code, texts[0], texts[1]


def output(command: str, lines: int, folder: Path = ROOT) -> str:
    """The first lines that a command prints."""
    return _first(run(command, folder).stdout, lines)


def renewed(text: str) -> str:
    """The text with every block replaced by what its command prints, or its file holds, now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "<!-- console:" in text:
            shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        return BLOCK.sub(lambda match: match["mark"] + _body(match, folder) + "```", text)


def _body(match: re.Match[str], folder: Path) -> str:
    if match["path"] is not None:
        return (ROOT / match["path"]).read_text(encoding="utf-8")
    if match["typed"] is None:
        return output(match["command"], int(match["lines"]))
    done = run(match["typed"], folder)
    code = f"$ echo $?\n{done.returncode}\n" if match["code"] else ""
    return _first(done.stdout, int(match["shown"])) + code


def _first(text: str, lines: int) -> str:
    return "".join(line.rstrip() + "\n" for line in text.splitlines()[:lines])


def marks(text: str) -> int:
    """How many blocks a text says it has."""
    return len(re.findall(r"<!-- (?:transcript|console|file):", text))


def main() -> int:
    """Rewrite or check every page."""
    named = [Path(word).resolve() for word in sys.argv[1:] if not word.startswith("--")]
    pages = {page: page.read_text(encoding="utf-8") for page in named or PAGES}
    for page, text in pages.items():
        if len(BLOCK.findall(text)) != marks(text):
            raise SystemExit(f"{page}: a mark must be followed at once by a block of its kind")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as workers:
        made = dict(zip(pages, workers.map(renewed, pages.values()), strict=True))
    stale = []
    for page, text in pages.items():
        new = made[page]
        if "--benchmarks" in sys.argv:
            new = MEASURED.sub(lambda m: m["mark"] + output(m["command"], 200) + "```", new)
        if new != text:
            stale.append(str(page.relative_to(ROOT)))
            if "--check" not in sys.argv:
                page.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print("stale transcripts in", ", ".join(stale), "- run: python tools/transcripts.py")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
