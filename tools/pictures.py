"""Make the pictures of the pages: a report as a PNG taken in headless Chromium.

Usage: python tools/pictures.py                   that in docs/pictures
       python tools/pictures.py --gallery FOLDER  of every page of the gallery that tools/site.py made
"""

from __future__ import annotations

import argparse
import base64
import runpy
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from dpverdict.audit.reports.html import write_html
from dpverdict.audit.reports.report import Report
from dpverdict.audit.runs.audits import Sampling, audit_mechanism
from dpverdict.mechanisms import CorrelatedGaussian, GaussianDP

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
ALL = "pictures.html"
CHROMIUM = [
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1000,900",
]


def refuted() -> Report:
    """The audit in the pictures: Algorithm 1 at mu = 1, claimed to be 0.95-GDP."""
    sampling = Sampling(samples=100_000, error_probability=1e-6, seed=1)
    command = "dpverdict audit correlated-gaussian --dim 100 --mu 1 --claim mu=0.95 --seed 1"
    return audit_mechanism(CorrelatedGaussian(dim=100, mu=1), GaussianDP("0.95"), sampling=sampling, command=command)


def page(report: Report, target: Path) -> None:
    """The top of the HTML report as PNG."""
    with tempfile.TemporaryDirectory() as folder:
        html = Path(folder) / "report.html"
        write_html(report, html)
        arguments = [f"--user-data-dir={folder}/profile", f"--screenshot={target}", html.as_uri()]
        subprocess.run([*CHROMIUM, *arguments], check=True, capture_output=True)


VIEWS: Final[dict[str, dict[str, Any]]] = {
    "desk": {"width": 1280},
    "desk, dark": {"width": 1280, "dark": True},
    "phone": {"width": 390},
    "phone, dark": {"width": 390, "dark": True},
    "paper": {"width": 794, "media": "print"},  # A4 at 96 pixels an inch
}
"""How the pages of the gallery are looked at."""


def gallery(folder: Path) -> Path:
    """A picture of the first screen of every page in every view, and one page that shows them."""
    browser_of = runpy.run_path(str(ROOT / "tests" / "browser.py"))["Browser"]
    pages = sorted(path for path in folder.glob("*.html") if path.name != ALL)
    shots = folder / "pictures"
    shots.mkdir(exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as profile, browser_of(Path(profile)) as browser:
        for path in pages:
            rows.append(f"<h2>{path.stem.replace('_', ' ')}</h2>")
            for view, options in VIEWS.items():
                browser.open(path.resolve(), **options)
                name = f"{path.stem}-{view.replace(', ', '-')}.png"
                (shots / name).write_bytes(base64.b64decode(browser.call("Page.captureScreenshot")["data"]))
                rows.append(f'<figure><img src="pictures/{name}" alt="{view}" height="420">{view}</figure>')
    style = (
        "<style>figure { display: inline-block; margin: 0.5rem; vertical-align: top } img { display: block }</style>"
    )
    made = folder / ALL
    made.write_text(f"<!doctype html><title>The gallery in pictures</title>{style}{''.join(rows)}\n", encoding="utf-8")
    return made


def main() -> None:
    """Make the pictures that the arguments name."""
    parser = argparse.ArgumentParser(description="Make the pictures of the pages.")
    parser.add_argument("--gallery", type=Path, help="a folder of pages; without it, the pictures of docs/ are made")
    folder = parser.parse_args().gallery
    if folder is not None:
        print(gallery(folder))
        return
    PICTURES.mkdir(exist_ok=True)
    shown = refuted()
    page(shown, PICTURES / "report.png")


if __name__ == "__main__":
    main()
