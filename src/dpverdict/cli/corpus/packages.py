"""A release of a package in a folder of its own, beside what is installed; nothing here is changed.

It is installed without what it depends on: numpy and the like are those of this environment. Where what is asked for is
installed here already, that is used.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpverdict.errors import DpverdictError

SECONDS: Final = 300
"""For one installation."""


class NotInstallable(DpverdictError):
    """A release cannot be had here: no package index answers, it has no such version, or this Python is too new."""


def default_folder() -> Path:
    """Where releases are kept: ``dpverdict/corpus`` in the user's folder for caches."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "dpverdict" / "corpus"


def version_here(package: str) -> str | None:
    """The version of a distribution in this environment; None if it is not installed."""
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_here(requirement: str) -> bool:
    """Whether a requirement ``name==version`` is what this environment has."""
    name, _, version = requirement.partition("==")
    return version_here(name) == version


def missing(needs: Sequence[str]) -> list[str]:
    """The distributions that are not installed here."""
    return [name for name in needs if version_here(name) is None]


def install(requirements: Sequence[str], kept: Path) -> Path | None:
    """The folder with these releases, installed if it is not there; None if this environment has them.

    Args:
        requirements: each ``name==version``.
        kept: the folder of all such folders. Where releases are found, pip's own configuration says.

    Raises:
        NotInstallable: they cannot be had here.
    """
    if all(installed_here(one) for one in requirements):
        return None
    name = "+".join(sorted(re.sub(r"[^\w.+-]", "-", one) for one in requirements))
    folder = kept / f"python{sys.version_info[0]}.{sys.version_info[1]}" / name
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    except OSError as error:
        raise NotInstallable(f"no folder for it can be made at {folder.parent}: {error}") from None
    try:
        _pip_install(requirements, made)
        with contextlib.suppress(OSError):  # another process has made it meanwhile
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder


def _pip_install(requirements: Sequence[str], target: Path) -> None:
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1", "--timeout", "15"]
    command = [sys.executable, "-m", "pip", "install", "--no-deps", *quiet, "--target", str(target)]
    try:
        done = subprocess.run(
            [*command, *requirements], capture_output=True, text=True, timeout=SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstallable(f"pip did not install {' '.join(requirements)}: {type(error).__name__}") from None
    if done.returncode:
        raise NotInstallable(f"pip did not install {' '.join(requirements)}: {_reason(done.stderr)}")


def _reason(printed: str) -> str:
    """Why pip did not install something, from what it printed: whether an index answers comes first."""
    if re.search(r"NewConnectionError|Connection refused|ProxyError|ConnectTimeout|Max retries|unreachable", printed):
        return "no package index answers here"
    lines = [line.strip() for line in printed.splitlines() if line.startswith("ERROR:")]
    chosen = next((line for line in lines if "No matching distribution" in line), lines[-1] if lines else "")
    return chosen.removeprefix("ERROR:").strip()[:200] or "it does not say why (is pip installed?)"
