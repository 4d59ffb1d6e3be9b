"""Make the site: the pages of docs/, the reference from the docstrings, and a gallery of reports.

pip install -e ".[docs]"
python tools/site.py              into build/site; a warning is an error, and nothing is downloaded
python tools/site.py --to FOLDER
python tools/site.py --without-gallery    the pages alone
"""

from __future__ import annotations

import argparse
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Build the site; the exit code is that of Sphinx."""
    parser = argparse.ArgumentParser(description="Make the site from docs/.")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "site", help="the folder of the site")
    parser.add_argument("--without-gallery", action="store_true", help="leave the reports of the gallery out")
    arguments = parser.parse_args()
    folder = arguments.to
    options = ["--builder", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    trees = ["--doctree-dir", str(folder.parent / f"{folder.name}.doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, *trees, str(ROOT / "docs"), str(folder)]
    code = subprocess.run(command, check=False).returncode
    if code:
        return code
    if not arguments.without_gallery:
        runpy.run_path(str(ROOT / "tools" / "gallery.py"))["write"](folder / "gallery")
    print(f"{folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
