"""Every entry of the corpus says all that it must; a file that does not is refused with what is wrong."""

from pathlib import Path

import pytest

from dpverdict.cli.corpus.entries import FOLDER, entries, find_entry, read_entry
from dpverdict.errors import InvalidValue

PUBLISHED = entries()


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.toml"))])
def test_an_entry_compiles_and_names_where_it_was_published(name: str) -> None:
    entry = find_entry(name)
    compile(entry.reproduction, name, "exec")
    assert entry.reference.startswith("https://")
    assert "own finding" not in entry.path.read_text(encoding="utf-8")
    defined = "def number(" if entry.kind == "numbers" else "def release("
    assert defined in entry.reproduction
    assert entry.broken != entry.control or "control" in entry.reproduction


def test_the_corpus_is_of_many_packages() -> None:
    assert len(PUBLISHED) >= 25
    assert len({entry.package for entry in PUBLISHED}) >= 10


def test_affected_versions_are_those_of_the_specifier() -> None:
    entry = find_entry("opendp-rr-bool")
    answers = [entry.affects(version) for version in ("0.1.0", "0.2.0", "0.4.0", "0.5.0", "0.5.0rc1", "not a version")]
    assert answers == [False, False, True, False, False, False]


def test_an_unknown_id_names_what_is_near() -> None:
    with pytest.raises(InvalidValue, match="opendp-rr-bitvec, opendp-rr-bool"):
        find_entry("opendp-rr")
    with pytest.raises(InvalidValue, match="corpus list"):
        find_entry("nothing-like-it")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('id = "tiny-noise"', 'id = "tiny"', "the name of its file"),
        ('kind = "numbers"', 'kind = "guess"', "releases, tap, bits, numbers"),
        ('fixed = "1.1"', 'fixed = "1.0.5"', "without the defect"),
        ('affected = "<1.1"', 'affected = "old"', "versions"),
        ('affected = "<1.1"', 'affected = "<0.5"', "in an affected version"),
        ('"dpverdict-tiny==1.0"', '"dpverdict-tiny>=1.0"', "its exact version"),
        ('"dpverdict-tiny==1.0"', '"--index-url=https://example.org==1"', "its exact version"),
        ('is = "fixed release"', 'is = "hope"', "fixed release, corrected use"),
        ('expected = "REFUTED"', 'expected = "QUIET"', "REFUTED, FINDING"),
        ('reference = "a test"', "", "reference"),
        ("reproduction = ", "surprise = ", "without the key surprise"),
        ('defect = "no noise is added"', "defect = ", "a readable TOML file"),
        ('kind = "numbers"', 'kind = "releases"\nsamples = 3', "a readable TOML file"),
        ("samples = 200", "samples = 3", "from 50 on"),
    ],
)
def test_a_file_that_is_no_entry_is_refused(own: Path, old: str, new: str, said: str) -> None:
    path = own / "tiny-noise.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    text = text.replace(old, new)
    if new == "samples = 3":
        text = text.replace('kind = "numbers"', 'kind = "releases"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidValue, match=said):
        read_entry(path)


def test_a_folder_without_entries_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InvalidValue, match="one for each entry"):
            entries(folder)
