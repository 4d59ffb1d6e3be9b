"""Run the commands whose output the README and the docs show, and write that output into them.

A transcript is a fenced block after a mark that names the command and how many of its first lines are shown:

    <!-- transcript: dpverdict audit standard-gaussian --dim 9 --mu 1 --no-test | first 6 -->
    ```text
    ...
    ```

A block after ``<!-- benchmark: COMMAND -->`` is rewritten likewise, with ``--benchmarks`` only: its numbers belong to
one run on one machine and are not checked.

Usage: python tools/transcripts.py               rewrite the transcripts
       python tools/transcripts.py --benchmarks  rewrite the benchmarks too
       python tools/transcripts.py --check       exit with 1 if a transcript is not what its command prints
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^(?P<mark><!-- transcript: (?P<command>.+?) \| first (?P<lines>\d+) -->\n```text\n)(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MEASURED = re.compile(
    r"^(?P<mark><!-- benchmark: (?P<command>.+?) -->\n```text\n)(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
WIDTH = 100


def output(command: str, lines: int) -> str:
    """The first lines that a command prints to a plain terminal of `WIDTH` columns."""
    arguments = shlex.split(command)
    if arguments[0] in ("dpverdict", "python"):
        arguments[0:1] = [str(Path(sys.executable).parent / arguments[0])]
    environment = os.environ | {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(arguments, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{command} failed: {done.stderr}")
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines()[:lines])


def renewed(text: str) -> str:
    """The text with every transcript replaced by what its command prints now."""
    return BLOCK.sub(lambda m: m["mark"] + output(m["command"], int(m["lines"])) + "```", text)


def main() -> int:
    """Rewrite or check every page."""
    stale = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if len(BLOCK.findall(text)) != text.count("<!-- transcript:"):
            raise SystemExit(f"{page}: a transcript mark must be followed at once by a text block")
        new = renewed(text)
        if "--benchmarks" in sys.argv:
            new = MEASURED.sub(lambda m: m["mark"] + output(m["command"], 100) + "```", new)
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
