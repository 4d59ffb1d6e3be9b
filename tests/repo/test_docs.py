"""The documentation is true: links lead somewhere, examples run, and the site is built without a warning."""

import doctest
import importlib.util
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from dpverdict import audit, mechanisms, proofs
from dpverdict.cli.application import app
from dpverdict.proofs.checks.rooms import rooms
from dpverdict.proofs.checks.statement import known_statements

ROOT = Path(__file__).parents[2]
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md")]
PAGES = [*TOP, *sorted((ROOT / "docs").glob("**/*.md"))]
FENCE = re.compile(r"^(?P<before>[^\n]*)\n```(?P<kind>[^\s`]*)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"""\]\((?P<plain>[^()\s]+(?:\([^()]*\))?[^()\s]*)\)|<a href="(?P<html>[^"]+)\"""")
COMMANDS = typer.main.get_command(app)


def blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """Every fenced block: the line before it, its kind, its body."""
    for match in FENCE.finditer("\n" + text):
        yield match["before"], match["kind"], match["body"]


def anchors(page: Path) -> set[str]:
    """What a link into a page may name: its headings, as GitHub and myst-parser write them, and its own marks."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = set(re.findall(r'<a id="([^"]+)"', text))
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        found.add(words.strip().replace(" ", "-"))
    return found


def broken_links(page: Path, text: str) -> list[str]:
    """The relative links of a page that lead nowhere."""
    bare = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    gallery = runpy.run_path(str(ROOT / "tools/gallery.py"))["PAGES"]
    found = []
    for match in LINK.finditer(bare):
        link = match["plain"] or match["html"]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        if page.parent == ROOT / "docs" and path.startswith("gallery/"):
            if path.removeprefix("gallery/") not in gallery:
                found.append(link)
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and (target.suffix != ".md" or anchor not in anchors(target))):
            found.append(link)
    return found


def unchecked_blocks(text: str) -> list[str]:
    """The blocks of a page that no test runs: every kind of block has a mark, a prompt or a meaning that is checked."""
    found = []
    for before, kind, body in blocks(text):
        marked = re.match(r"<!-- (transcript|console|file|benchmark|command):? ", before)
        if kind in ("python", "toml", "yaml", "text", "console"):
            good = bool(marked) or (kind == "python" and body.startswith(">>> "))
        elif kind == "sh":
            good = bool(marked) or not unknown_commands(body)
        else:
            good = kind in ("{toctree}", "{eval-rst}")
        if not good:
            found.append(body)
    return found


def unknown_commands(script: str) -> list[str]:
    """The lines of a script that dpverdict would not understand, or that call something else than is installed."""
    found = []
    for line in script.splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "dpverdict":
            try:
                name = words[1]
                COMMANDS.commands[name].make_context(name, words[2:])  # type: ignore[attr-defined]
            except Exception as error:
                found.append(f"{line}: {error!r}")
        elif words[0].removeprefix(".venv/bin/") not in ("python3", "python", "pip", "pytest"):
            found.append(line)
    return found


def test_every_link_leads_somewhere() -> None:
    broken = {page.name: broken_links(page, page.read_text(encoding="utf-8")) for page in PAGES}
    assert {name: links for name, links in broken.items() if links} == {}
    assert len(PAGES) > 40


def test_a_planted_broken_link_is_found() -> None:
    planted = ["[a](missing.md)", "[a](index.md#no-such-heading)", "[a](#nowhere)", '<a href="gallery/none.html">a</a>']
    for link in planted:
        assert len(broken_links(ROOT / "docs/index.md", f"# Title\n\ntext {link}\n")) == 1, link


def test_a_right_link_is_accepted() -> None:
    text = "[a](sharp_edges.md) [b](index.md#where-to-begin) [c](../README.md) [d](https://example.org/x)"
    assert broken_links(ROOT / "docs/index.md", text) == []
    assert len(LINK.findall(text)) == 4


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    found = {page.name: unchecked_blocks(page.read_text(encoding="utf-8")) for page in (ROOT / "docs").glob("*.md")}
    assert {name: bodies for name, bodies in found.items() if bodies} == {}
    assert len(found) > 30


RUNNING_TIME = re.compile(r"(?<![\w.])\d+(?:\.\d+)? ?(?:ms|s|sec|seconds|minutes)(?![\w/])")
"""As commands print it: "(2 s)", "in 0.52s", "took 1.5 seconds"."""


def timed_lines(text: str) -> list[str]:
    """The lines of a page's console blocks and transcripts that show a time: on another machine it is another one."""
    shown = [body for before, _, body in blocks(text) if re.match(r"<!-- (console|transcript): ", before)]
    return [
        line for body in shown for line in body.splitlines() if RUNNING_TIME.search(line) and not line.startswith("$ ")
    ]


def test_no_output_on_a_page_shows_how_long_its_command_ran() -> None:
    found = {page.name: timed_lines(page.read_text(encoding="utf-8")) for page in PAGES}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_planted_running_time_is_found() -> None:
    console = "<!-- console: first 2 -->\n```console\n$ dpverdict prove --seconds 20\n{}\n```\n"
    for line in (
        "all 23 planted faults found (2 s)",
        "(2 s)",
        "3 passed in 0.52s",
        "it took 1.5 seconds",
        "code x, 0.12 s",
    ):
        assert timed_lines(console.format(line)) == [line]
    for line in ("d = 2, s >= 1", "7 statements: 6 hold", "s=2 samples", "0.1 sigma", "5 steps"):
        assert timed_lines(console.format(line)) == []
    assert timed_lines("<!-- benchmark: python x.py -->\n```text\n0.12 s\n```\n") == []


def test_a_planted_unchecked_block_is_found() -> None:
    for block in (
        "```python\nx = 1\n```",
        "```sh\ndpverdict audit --no-such-option\n```",
        "```sh\ndpverdict no-such-command\n```",
        "```sh\ncurl https://example.org\n```",
        "```text\noutput\n```",
        "```console\n$ dpverdict list\n```",
        "```toml\na = 1\n```",
        "```\nanything\n```",
    ):
        assert len(unchecked_blocks(f"# Title\n\ntext\n\n{block}\n")) == 1, block


WITH_EXAMPLES = [page for page in sorted((ROOT / "docs").glob("*.md")) if ">>> " in page.read_text(encoding="utf-8")]


OVER_TWO_SECONDS = {
    *("howto_audit_any_function.md", "howto_audit_training.md", "howto_eight_tasks.md", "howto_many_machines.md"),
    "tutorial_library_author.md",
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in OVER_TWO_SECONDS else [])
        for page in WITH_EXAMPLES
    ],
)
def test_the_python_examples_of_a_page_are_real(page: Path) -> None:
    try:
        assert doctest.testfile(str(page), module_relative=False).failed == 0
    finally:  # the statements of the paper in the examples are for no other test
        for paper in known_statements.keys() - set(rooms()):
            del known_statements[paper]


def test_the_pages_have_examples_and_transcripts() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert text.count(">>> ") > 80
    assert len(re.findall(r"<!-- (?:console|transcript|file):", text)) >= 15


def test_a_wrong_example_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n")
    assert doctest.testfile(str(page), module_relative=False).failed == 1
    capsys.readouterr()


def test_stale_console_and_file_blocks_are_noticed() -> None:
    renewed = runpy.run_path(str(ROOT / "tools/transcripts.py"))["renewed"]
    console = "<!-- console: first 1, exit code -->\n```console\n$ dpverdict --version\ndpverdict 0.0.0\n```"
    assert "$ echo $?\n0\n```" in renewed(console)
    assert "0.0.0" not in renewed(console)
    file = "<!-- file: examples/plan.toml -->\n```toml\nold\n```"
    assert (ROOT / "examples/plan.toml").read_text(encoding="utf-8") in renewed(file)


UNPUBLISHED = re.compile(r"pip install\b[^\n#]*[ \"']dpverdict(?![\w/])")
"""An installation by name, from an index that does not have the package."""


def test_nothing_is_installed_from_where_it_is_not() -> None:
    folders = [
        ROOT / name for name in ("docs", "examples", "audit", "mechanisms", "proofs", "src/dpverdict/cli", "benchmarks")
    ]
    files = [path for folder in folders for kind in ("md", "py", "yml") for path in folder.rglob(f"*.{kind}")]
    wrong = [str(path) for path in [*TOP, *files] if UNPUBLISHED.search(path.read_text(encoding="utf-8"))]
    assert len(files) > 300
    assert wrong == []


def test_a_planted_installation_by_name_is_found() -> None:
    for line in ("pip install dpverdict", "run: pip install -q 'dpverdict[test]'", 'pip install "dpverdict"'):
        assert UNPUBLISHED.search(line)
    for line in ("pip install ./dpverdict", "pip install .", "pip install scipy # dpverdict"):
        assert not UNPUBLISHED.search(line)


def test_every_page_is_reached_from_the_index() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    named = {line for _, kind, body in blocks(index) if kind == "{toctree}" for line in body.split()}
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").glob("**/*.md")}
    assert {page for page in pages - named if not page.startswith("decisions/")} == {
        "index"
    }  # those are for developers


needs_sphinx = pytest.mark.skipif(importlib.util.find_spec("furo") is None, reason="the extra docs is not installed")


def build(source: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", str(source), str(target)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


@needs_sphinx
@pytest.mark.slow  # a minute; the gate runs it at every commit
def test_the_site_is_built_without_a_warning_and_loads_nothing(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools/site.py"), "--without-gallery", "--to", str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    site = tmp_path / "site"
    pages = {page.stem: page.read_text(encoding="utf-8") for page in site.glob("*.html")}
    assert 'id="dpverdict.audit.certify"' in pages["reference_exact"]
    assert f'href="_modules/{audit.certify.__module__.replace(".", "/")}.html' in pages["reference_exact"]
    assert "neighbours: Neighbours," in re.sub(r"<[^>]+>", "", pages["reference_tests"])
    assert "--error-probability" in pages["reference_commands"]
    assert "summary.sentence" in pages["reference_files"]
    assert '<p class="formula"><svg' in pages["concepts"]
    for page in site.glob("**/*.html"):
        loaded = re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(https?:[^"]+)"', page.read_text()
        )
        assert loaded == [], page


@pytest.mark.slow  # pages of the same kinds are made and looked at in unit/audit/reports and unit/audit/runs/plans
def test_the_gallery_is_made_and_its_pages_load_nothing(tmp_path: Path) -> None:
    gallery = runpy.run_path(str(ROOT / "tools/gallery.py"))
    gallery["write"](tmp_path)
    assert {page.name for page in tmp_path.iterdir()} == set(gallery["PAGES"])
    for page in tmp_path.iterdir():
        assert "Content-Security-Policy" in page.read_text(encoding="utf-8"), page


def documented(pages: str) -> list[str]:
    """The names that the reference has, with their modules."""
    found = re.findall(r"^\.\. names:: (\S+)\n\n((?:   \w+\n)+)", pages, flags=re.MULTILINE)
    return [f"{module}.{name}" for module, names in found for name in names.split()]


def test_every_public_name_stands_once_in_the_reference() -> None:
    names = documented("".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("reference_*.md")))
    assert len(names) == len(set(names)) > 150
    public = {f"{m.__name__}.{name}" for m in (audit, mechanisms, proofs) for name in m.__all__}
    assert public <= set(names)
    assert documented(".. names:: a.b\n\n   c\n   d\n") == ["a.b.c", "a.b.d"]


@needs_sphinx
def test_a_planted_broken_reference_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source/conf.py").write_text('extensions = ["myst_parser"]\n')
    (tmp_path / "source/index.md").write_text("# Title\n\n[nowhere](missing.md)\n")
    assert build(tmp_path / "source", tmp_path / "site").returncode != 0
