"""``dpverdict prove``: the ledger in a terminal, as JSON, as a page, as Markdown; its exit codes."""

import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from dpverdict.cli.application import main
from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import matching, statements
from dpverdict.proofs.checks.statement import STATEMENTS
from dpverdict.proofs.ledger.html import render_html, write_html
from dpverdict.proofs.ledger.ledger import Ledger, as_json, make_ledger, markdown

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NUMBERS = ("poster.line1", "lem3.1", "lem3.4", "lem3.6", "fig2", "alg2.replacement")
SCHEMA = json.loads(
    resources.files("dpverdict.proofs.ledger").joinpath("ledger.schema.json").read_text(encoding="utf-8")
)
EXAMPLE = Path(__file__).parents[3] / "examples" / "statement_of_another_paper.py"


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return make_ledger([found for number in NUMBERS for found in matching("lebeda2024", number)])


def test_the_command_prints_statement_outcome_and_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "lebeda2024", "--statement", "3.4"]) == 0
    out = capsys.readouterr().out
    assert "Lemma 3.4" in out
    assert "2 statements: 1 holds with a caveat, 1 fails as printed; every outcome as recorded" in out


def test_explain_prints_everything_a_reviewer_asks_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "lebeda2024", "--statement", "lem3.6", "--explain"]) == 0
    out = capsys.readouterr().out
    for part in (
        "Lemma 3.6",
        "Assume that we have access to an estimate",
        "holds with a caveat",
        "with n~ = n the release is f + N(0, d/4), of parameter 2 mu",
        "symbolic",
        "all d >= 1, mu > 0",
        "refuted: d/(8 mu^2)",
        "assumed      the estimate of n is independent of the dataset",
        "proofs/lebeda2024/section3_1.py:",
        "sha256",
    ):
        assert part in out
    assert "MISSED" not in out


def test_usage_errors_exit_with_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments in (
        ["prove", "no-such-paper"],
        ["prove", "lebeda2024", "--statement", "99.9"],
        ["prove", "lebeda2024", "--json", str(tmp_path / "missing" / "x.json")],
        ["prove", str(tmp_path / "missing.py")],
        ["prove", "lebeda2024", "--unknown"],
    ):
        assert main(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_changed_outcome_exits_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = matching("lebeda2024", "lem3.1")
    wrong = dataclasses.replace(found, printed=found.planted[0].claim)
    monkeypatch.setitem(STATEMENTS["lebeda2024"], "lem3.1", wrong)
    assert main(["prove", "lebeda2024", "--statement", "lem3.1"]) == 1
    assert "CHANGED: lebeda2024 lem3.1 fails as printed, recorded: holds" in capsys.readouterr().out


def test_the_json_meets_its_schema(ledger: Ledger) -> None:
    made = as_json(ledger)
    jsonschema.validate(made, SCHEMA)
    assert made["schema_version"] == 1
    assert [row["number"] for row in made["statements"]] == list(NUMBERS)
    row = made["statements"][0]
    assert (row["outcome"], row["new"]) == ("FAILS_AS_PRINTED", False)
    assert "1.0987" in row["witness"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made | {"statements": []}, SCHEMA)


def test_the_json_file_and_the_page_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = tmp_path / "ledger.json", tmp_path / "ledger.html"
    assert main(["prove", "lebeda2024", "--statement", "fig2", "--json", str(files[0]), "--report", str(files[1])]) == 0
    jsonschema.validate(json.loads(files[0].read_text(encoding="utf-8")), SCHEMA)
    assert 'id="lebeda2024-fig2"' in files[1].read_text(encoding="utf-8")
    capsys.readouterr()


class Page(HTMLParser):
    """The identifiers, links and loads of a page."""

    def __init__(self) -> None:
        HTMLParser.__init__(self)
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if "id" in named:
            self.ids.append(named["id"])
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        elif tag in ("script", "img", "iframe", "link") or "src" in named:
            self.loads.append(named.get("src", named.get("href", tag)))


def test_the_page_loads_nothing_and_every_statement_has_an_anchor(ledger: Ledger) -> None:
    text = render_html(ledger)
    page = Page()
    page.feed(text)
    assert page.loads == ["data:,"]
    assert len(page.ids) == len(set(page.ids))
    assert {entry.outcome.anchor for entry in ledger.entries} <= set(page.ids)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert text.count('class="formula"') == sum(bool(entry.statement.formula) for entry in ledger.entries)
    assert text == render_html(ledger)


def test_the_page_can_be_filtered_by_outcome_without_a_script(ledger: Ledger) -> None:
    text = render_html(ledger)
    assert "<script" not in text
    for key, number in {"all": 6, "caveat": 3, "fails": 1, "holds": 2}.items():
        assert re.search(rf'id="show-{key}"[^>]*> [^(]*\({number}\)', text), key
        assert key == "all" or f"body:has(#show-{key}:checked)" in text
    assert 'id="show-undecided"' not in text
    assert text.count(" checked>") == 1


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_renders_the_ledger_without_a_complaint(ledger: Ledger, tmp_path: Path) -> None:
    page = tmp_path / "ledger.html"
    drawn = [found for found in statements("new_results") if found.figure is not None][:1]
    write_html(Ledger((*ledger.entries, *make_ledger(drawn).entries)), page)
    quiet = "--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"
    command = [str(CHROMIUM), "--headless", "--no-sandbox", *quiet.split(), "--disable-sync", "--disable-dev-shm-usage"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--v=0", "--dump-dom"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr
    assert "<title>Ledger of statements</title>" in done.stdout
    assert "<desc id=" in done.stdout, "every drawing has a text alternative"


def test_what_a_statement_says_is_escaped(ledger: Ledger) -> None:
    entry = ledger.entries[0]
    hostile = dataclasses.replace(entry, outcome=dataclasses.replace(entry.outcome, text="<script>alert(1)</script>"))
    page = render_html(Ledger((hostile,)))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_markdown_has_a_row_and_an_anchor_for_every_statement(ledger: Ledger) -> None:
    text = markdown(ledger)
    for entry in ledger.entries:
        assert f'<a id="{entry.outcome.anchor}"></a>{entry.outcome.label} |' in text
    rows = [line for line in text.splitlines() if line.startswith("| <a")]
    assert len(rows) == len(ledger.entries)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 8 for row in rows)


def test_figures_are_drawn_with_text_alternatives_and_identifiers_of_their_own() -> None:
    drawn = [found.figure() for found in statements() if found.figure is not None]
    assert len(drawn) >= 5
    assert all(figure.startswith("<svg") and 'role="img"' in figure and "<desc id=" in figure for figure in drawn)
    identifiers = [name for figure in drawn for name in re.findall(r' id="([^"]+)"', figure)]
    assert len(identifiers) == len(set(identifiers))
    assert all(not re.search(r"#[0-9a-f]{6}", figure) for figure in drawn), "colours are roles, for light and dark"
    assert sum("<table" in figure for figure in drawn) >= 3


def test_progress_is_reported_to_the_end() -> None:
    seen: list[tuple[str, int, int]] = []
    make_ledger(matching("lebeda2024", "lem3.1"), lambda what, done, total: seen.append((what, done, total)))
    assert seen[-1] == ("statements", 1, 1)


def test_a_statement_of_a_users_own_file_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", str(EXAMPLE), "--explain"]) == 0
    out = capsys.readouterr().out
    assert "Theorem A.1" in out
    assert "MISSED" not in out
    assert Standing.HOLDS.value in out
