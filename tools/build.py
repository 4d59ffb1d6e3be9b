"""Build the wheel and the source archive, the same bytes whoever builds them: python tools/build.py [FOLDER]

Times, owners and permissions in the archives come from the commit, not from the machine: SOURCE_DATE_EPOCH where it is
set, else the time of the last commit. The source archive is packed again for that, as setuptools keeps them in it.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def build(source: Path, target: Path, epoch: int, *, isolated: bool = True) -> list[Path]:
    """Build what ``source`` holds into the folder ``target``; the two archives.

    Args:
        source: a copy of the repository.
        target: an empty folder, or one that is made.
        epoch: the time that every entry gets, in seconds since 1970.
        isolated: whether the build gets an environment of its own.

    Raises:
        subprocess.CalledProcessError: the build failed.
    """
    command = [sys.executable, "-m", "build", *([] if isolated else ["--no-isolation"]), "--outdir", target, source]
    umask = os.umask(0o022)
    try:
        subprocess.run(command, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}, stdout=subprocess.PIPE)
    finally:
        os.umask(umask)
    for archive in target.glob("*.tar.gz"):
        pack_again(archive, epoch)
    return sorted(target.iterdir())


def pack_again(archive: Path, epoch: int) -> None:
    """Write a source archive anew: entries by name, with the given time, no owner, and two kinds of permissions."""
    packed = io.BytesIO()
    with tarfile.open(archive) as before, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as after:
        for entry in sorted(before.getmembers(), key=lambda member: member.name):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname, entry.pax_headers = epoch, 0, 0, "", "", {}
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            after.addfile(entry, before.extractfile(entry) if entry.isreg() else None)
    with archive.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as compressed:
        compressed.write(packed.getvalue())


def epoch_of_the_commit() -> int:
    """SOURCE_DATE_EPOCH, or the time of the last commit."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True)
    return int(shown.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=ROOT / "dist", type=Path, help="dist if not given")
    for path in build(ROOT, parser.parse_args().folder, epoch_of_the_commit()):
        print(path)


if __name__ == "__main__":
    main()
