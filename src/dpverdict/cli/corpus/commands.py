"""``dpverdict corpus list | show | run`` and ``dpverdict scan``: known defects, seen again, and looked for here."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from dpverdict.cli.options import Details, JsonReport, Memory, Timeout, option
from dpverdict.cli.session import CommandResult, Outputs, exit_with, in_one_row, print_lines, printing, say
from dpverdict.errors import printable

app: typer.Typer = typer.Typer(help="Published defects of released packages: list them, show one, run them again.")

From = Annotated[
    Path | None,
    option(
        "--from", "FOLDER", "A folder of entries of your own, one .toml file each; else the published ones.", "Audit"
    ),
]
_MOST_ROWS: Final = 26
SEED: Final = "1"
"""Of the tests of a run."""


@exit_with
def list_entries(folder: From = None) -> CommandResult:
    """The entries: id, package, the versions that have the defect, and the release that mends it.

    For example: dpverdict corpus list
    """
    from dpverdict.cli.corpus.entries import entries

    found = entries(folder)
    rows = [(one.id, one.package, one.affected, one.fixed or "none") for one in found]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = ["  ".join([*(row[i].ljust(widths[i]) for i in range(3)), row[3]]) for row in rows]
    packages = len({one.package for one in found})
    print_lines(
        [*lines, f"{len(found)} entries of {packages} packages; the last column names the release that mends it"]
    )
    return CommandResult(code=0)


@exit_with
def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="As `dpverdict corpus list` shows it.", show_default=False)],
    folder: From = None,
    details: Details = False,
) -> CommandResult:
    """One entry: what is wrong, where it was published, what is run, and what must come out.

    For example: dpverdict corpus show opendp-rr-bool
    """
    from dpverdict.cli.corpus.entries import KINDS, find_entry

    one = find_entry(name, folder)
    promised = [f"claim      {one.claim}", f"pair       {one.pair}"] if one.claim else []
    print_lines(
        [
            f"{one.id}: {one.package} {one.affected}, {one.function}",
            f"defect     {one.defect}",
            f"reference  {one.reference}",
            f"fixed      {one.fixed or 'in no release'}",
            f"instead    {one.instead}",
            *promised,
            f"shown by   {KINDS[one.kind]}",
            f"broken     {' '.join(one.broken.install)}: must be {one.expected}",
            f"control    {' '.join(one.control.install)}, {one.control_is} ({one.control.what}): must not be refuted",
        ]
    )
    code = one.reproduction.strip("\n").splitlines()
    with printing():
        if details:
            print("", *(printable(line, sys.stdout.encoding) for line in code), sep="\n")
        else:
            print(f"--details prints what is run, {len(code)} lines of Python")
    return CommandResult(code=0)


@exit_with
def run(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="One entry, or all of a package; all if left out.", show_default=False),
    ] = None,
    folder: From = None,
    kept: Annotated[
        Path | None,
        option("--folder", "FOLDER", "Where releases are installed; else the user's cache.", "Machines"),
    ] = None,
    seed: Annotated[str, option("--seed", "N", "Of the tests.", "Tests")] = SEED,
    timeout: Timeout = None,
    memory: Memory = None,
    json: JsonReport = None,
) -> CommandResult:
    """Install the releases of entries, each in a folder of its own, and see whether their defects are found.

    Each is audited in a process of its own; nothing that is installed here is changed. It needs a package index, and
    says so where there is none. The code of those releases is run: this is no sandbox.

    For example: dpverdict corpus run opendp-rr-bool

    Exit codes: 0 all came out as they must, 1 something came out otherwise, 3 something could not be installed.
    """
    from dpverdict.audit.isolation.process import parse_limits
    from dpverdict.cli.corpus.entries import entries, find_entry
    from dpverdict.cli.corpus.packages import default_folder
    from dpverdict.cli.corpus.running import as_json, exit_code, run_entries, summary
    from dpverdict.numerics.text import whole_number

    limits = parse_limits(timeout, memory)
    number = whole_number(seed, "seed", at_least=0)
    chosen = entries(folder)
    if name is not None:
        chosen = [one for one in chosen if one.package.lower() == name.lower()] or [find_entry(name, folder)]
    results = []
    with Outputs(json=json) as outputs:
        made = run_entries(
            chosen, (kept or default_folder()).absolute(), seed=number, seconds=limits.seconds, memory=limits.memory
        )
        for result in made:
            results.append(result)
            for label, seen in (("broken ", result.broken), ("control", result.control)):
                print_lines([f"{result.id}  {label}  {' '.join(seen.install)}: {seen.status}; {seen.detail}"])
        outputs.write(json=lambda: json_text.dumps(as_json(results), indent=1) + "\n")
    print_lines(summary(results).splitlines())
    return CommandResult(code=exit_code(results))


@exit_with
def scan(folder: From = None, details: Details = False) -> CommandResult:
    """What is installed here in a version with a published defect, and what to do. Offline, in under a second.

    Only names and versions are read, no package is loaded. That nothing is named says that the corpus has no entry for
    what is installed, and nothing more.

    For example: dpverdict scan

    Exit codes: 0 nothing known, 1 something with a known defect is installed.
    """
    from dpverdict.cli.corpus.entries import entries
    from dpverdict.cli.corpus.packages import version_here

    lines, affected, looked = list[str](), 0, dict[str, str | None]()
    for entry in entries(folder):
        if entry.package not in looked:
            looked[entry.package] = version_here(entry.package)
        version = looked[entry.package]
        if version is None or not entry.affects(version):
            continue
        affected += 1
        cure = f"update to {entry.fixed} or later" if entry.fixed else "no release mends it"
        told = [f"{entry.package} {version}: {entry.function}: {entry.defect}", f"    {cure}; {entry.instead}"]
        lines += [*told, f"    {entry.reference} ({entry.id})"] if details else [in_one_row(line) for line in told]
    if not details and len(lines) > _MOST_ROWS:
        lines = [*lines[:_MOST_ROWS], f"and {(len(lines) - _MOST_ROWS) // 2} more"]
    here = [f"{package} {version}" for package, version in looked.items() if version is not None]
    lines.append(
        f"{affected} known defect{'' if affected == 1 else 's'} in what is installed here; "
        f"looked at {', '.join(here) or 'nothing'} of {len(looked)} packages with entries"
    )
    if affected and not details:
        lines.append("--details tells all of it, dpverdict corpus show ID one defect")
    print_lines(lines)
    if not here:
        say("note: none of the packages that the corpus knows is installed in this environment")
    return CommandResult(code=1 if affected else 0)
