"""The entries of the corpus: one file each, with a published defect of a released package and how to see it again.

An entry says which versions have the defect and which release mends it, where it was published, what is run, on which
pair of datasets, against which claim, and what must come out. Reading them loads nothing but the standard library and
`packaging`: a scan of what is installed takes a fraction of a second.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from dpverdict.errors import InvalidValue
from dpverdict.numerics.files import read_limited

LARGEST_ENTRY: Final = 2**20
"""Bytes of the file of an entry, at most."""

FOLDER: Final = Path(__file__).parent / "entries"
"""The entries of this package."""

KINDS: Final = {
    "releases": "a test on fresh releases",
    "tap": "the noise tap",
    "bits": "a test of the low bits of fresh releases",
    "numbers": "two numbers: what is true, and what the release says",
}
"""How a defect is shown."""

CONTROLS: Final = ("fixed release", "corrected use", "other pair")
"""What the same run must not refute: strongest first. Another pair shows only that the test does not refute all."""

EXPECTED: Final = ("REFUTED", "FINDING")
_TEXTS: Final = ("id", "package", "function", "defect", "reference", "affected", "instead", "kind", "expected")
_WITH_PAIR: Final = ("claim", "pair")
_MAY: Final = {"fixed", "needs", "samples", "delta", "reproduction", "broken", "control", *_TEXTS, *_WITH_PAIR}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRelease:
    """What is installed for one side of an entry.

    Attributes:
        install: requirements with exact versions, installed without what they depend on.
        what: what is run of them.
    """

    install: tuple[str, ...]
    what: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusEntry:
    """A published defect.

    Attributes:
        id: of the entry; never changes.
        package: the distribution, as it is installed.
        function: what has the defect.
        defect: what is wrong, in a sentence.
        reference: where it was published.
        affected: the versions that have it, as a specifier such as ">=0.2,<0.5".
        fixed: the first release that mends it; None if there is none.
        instead: what a user of an affected version does.
        kind: how it is shown, of `KINDS`.
        claim, pair: what is promised, and for which two datasets; empty for numbers.
        expected: what must come out of the broken side.
        samples: releases on each dataset.
        delta: at which epsilon is bounded in a search of low bits.
        needs: distributions that must be installed here beside it.
        broken, control: what is installed and run.
        control_is: of `CONTROLS`.
        reproduction: Python; see docs/corpus.md for the names that it defines.
        path: of its file.
    """

    id: str
    package: str
    function: str
    defect: str
    reference: str
    affected: str
    fixed: str | None
    instead: str
    kind: str
    claim: str
    pair: str
    expected: str
    samples: int
    delta: float
    needs: tuple[str, ...]
    broken: PackageRelease
    control: PackageRelease
    control_is: str
    reproduction: str
    path: Path

    def affects(self, version: str) -> bool:
        """Whether a version of the package has the defect; pre-releases count. One that is no version does not."""
        try:
            return Version(version) in SpecifierSet(self.affected, prereleases=True)
        except InvalidVersion:
            return False


def entries(folder: Path | None = None) -> list[CorpusEntry]:
    """All entries of a folder, by their ids; of this package if none is given.

    Raises:
        InvalidValue: the folder is none, has no entry, or a file in it is no entry.
    """
    folder = FOLDER if folder is None else folder
    if not folder.is_dir():
        raise InvalidValue("from", str(folder), "a folder", "name a folder of .toml files, one for each entry")
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise InvalidValue("from", str(folder), "a folder with .toml files, one for each entry", "see docs/corpus.md")
    return [read_entry(path) for path in paths]


def find_entry(name: str, folder: Path | None = None) -> CorpusEntry:
    """The entry of an id.

    Raises:
        InvalidValue: there is none; see also `entries`.
    """
    found = {entry.id: entry for entry in entries(folder)}
    if name not in found:
        near = [one for one in found if name.lower() in one or found[one].package.lower() == name.lower()]
        remedy = f"choose one of {', '.join(near)}" if near else "see `dpverdict corpus list`"
        raise InvalidValue("id", name, "an entry of the corpus", remedy)
    return found[name]


def read_entry(path: Path) -> CorpusEntry:
    """The entry of a file.

    Raises:
        InvalidValue: it is no entry: the message says what is missing, unknown or out of place.
    """
    where = path.name
    content = read_limited(path, "entry", LARGEST_ENTRY)
    try:
        fields = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidValue("entry", where, f"a readable TOML file ({error})", "see docs/corpus.md") from None
    unknown = sorted(fields.keys() - _MAY)
    if unknown:
        raise InvalidValue("entry", where, f"without the key {unknown[0]}", f"the keys are {', '.join(sorted(_MAY))}")
    kind = _one_of(fields, "kind", tuple(KINDS), where)
    texts = {name: _text(fields, name, where) for name in _TEXTS}
    texts |= {name: _text(fields, name, where) if kind != "numbers" else "" for name in _WITH_PAIR}
    if texts["id"] != path.stem or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", texts["id"]):
        raise InvalidValue("id", texts["id"], "the name of its file, in small letters, digits and hyphens", where)
    _one_of(fields, "expected", EXPECTED, where)
    fixed = fields.get("fixed")
    try:
        affected = SpecifierSet(texts["affected"], prereleases=True)
        still = fixed is not None and Version(str(fixed)) in affected
    except (InvalidSpecifier, InvalidVersion) as error:
        raise InvalidValue(
            "affected", texts["affected"], f"versions ({error})", 'write for example ">=1.0,<1.2"'
        ) from None
    if still:
        raise InvalidValue("fixed", fixed, f"a release without the defect, not one of {affected}", f"look at {where}")
    broken, control = (_read_side(fields, name, where) for name in ("broken", "control"))
    held = _of_package(broken, texts["package"])
    if held is None or Version(held) not in affected:
        raise InvalidValue("broken", broken.install, f"{texts['package']} in an affected version", f"look at {where}")
    return CorpusEntry(
        **texts,
        fixed=None if fixed is None else str(fixed),
        samples=_whole_number_field(fields, where) if kind in ("releases", "bits") else 0,
        delta=float(fields.get("delta", 0.0)),
        needs=tuple(str(name) for name in fields.get("needs", ())),
        broken=broken,
        control=control,
        control_is=_one_of(fields["control"], "is", CONTROLS, where),
        reproduction=_text(fields, "reproduction", where) + "\n",
        path=path,
    )


def _text(fields: Mapping[str, Any], name: str, where: str) -> str:
    found = fields.get(name)
    if not isinstance(found, str) or not found.strip():
        raise InvalidValue(name, found, f"a text in {where}", "see docs/corpus.md for what an entry says")
    return found.strip()


def _one_of(fields: Mapping[str, Any], name: str, known: tuple[str, ...], where: str) -> str:
    if fields.get(name) not in known:
        raise InvalidValue(name, fields.get(name), f"in {where} one of {', '.join(known)}", "see docs/corpus.md")
    return str(fields[name])


def _whole_number_field(fields: Mapping[str, Any], where: str) -> int:
    found = fields.get("samples")
    if not isinstance(found, int) or not 50 <= found <= 10**6:
        raise InvalidValue(
            "samples", found, f"in {where} a whole number from 50 on", "say how many releases are enough"
        )
    return found


def _read_side(fields: Mapping[str, Any], name: str, where: str) -> PackageRelease:
    found = fields.get(name)
    if not isinstance(found, dict) or not found.get("install"):
        raise InvalidValue(name, found, f"in {where} a table with the list install", "see docs/corpus.md")
    install = tuple(str(one) for one in found["install"])
    for one in install:
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.+!-]+", one):
            raise InvalidValue(name, one, f"in {where} a package with its exact version", 'write "name==1.2.3"')
    return PackageRelease(install=install, what=str(found.get("what", "")))


def _of_package(side: PackageRelease, package: str) -> str | None:
    """The version of the package among the requirements of a side."""
    for one in side.install:
        name, _, version = one.partition("==")
        if canonicalize_name(name) == canonicalize_name(package):
            return version
    return None
