"""Make the pictures of the pages: the terminal output as SVG, the report as a PNG taken in headless Chromium.

Usage: python tools/pictures.py
"""

from __future__ import annotations

import io
import subprocess
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dpverdict.audit.reports.html import write_html
from dpverdict.audit.reports.report import Report
from dpverdict.audit.reports.terminal import print_report
from dpverdict.audit.runs.audits import Sampling, audit_mechanism
from dpverdict.mechanisms import CorrelatedGaussian, GaussianDP

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
LINES = 44  # of the terminal output, from the top
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


def terminal(report: Report) -> str:
    """The first lines of the terminal output as SVG."""
    coloured = io.StringIO()
    print_report(report, Console(file=coloured, width=100, force_terminal=True, color_system="truecolor"))
    shown = Text.from_ansi("\n".join(coloured.getvalue().splitlines()[:LINES]))
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(shown)
    return console.export_svg(title=report.command or "dpverdict")


def page(report: Report, target: Path) -> None:
    """The top of the HTML report as PNG."""
    with tempfile.TemporaryDirectory() as folder:
        html = Path(folder) / "report.html"
        write_html(report, html)
        arguments = [f"--user-data-dir={folder}/profile", f"--screenshot={target}", html.as_uri()]
        subprocess.run([*CHROMIUM, *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    shown = refuted()
    (PICTURES / "terminal.svg").write_text(terminal(shown), encoding="utf-8")
    page(shown, PICTURES / "report.png")
