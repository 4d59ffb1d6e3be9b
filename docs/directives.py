"""Directives that make the reference: names by subject, the help of every command, the fields of every JSON file.

Each takes what it shows from the code when the site is built, so that no page has to be kept by hand. They stand in
blocks of ``{eval-rst}``.
"""

from __future__ import annotations

import importlib
import importlib.resources
import inspect
import json
from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

from dpverdict.audit.documents.schema import json_schema
from dpverdict.cli.application import app as dpverdict
from dpverdict.proofs.checks.drawings import formula_svg

COLUMNS = 100


class _Generated(SphinxDirective):
    """A directive that stands for lines of reStructuredText."""

    def parsed(self, lines: list[str]) -> list[nodes.Node]:
        """The nodes of the lines."""
        box = nodes.container()
        self.state.nested_parse(StringList(lines, self.get_location()), 0, box)
        return box.children


class Names(_Generated):
    """``.. names:: module`` with one name a line: a table with a sentence for each, then each of them in full."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The table and the entries."""
        module = importlib.import_module(self.arguments[0])
        names = [line.strip() for line in self.content if line.strip()]
        table = [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]
        entries = [line for name in names for line in _entry(module, name)]
        return self.parsed([f".. currentmodule:: {module.__name__}", "", *table, *entries])


def _entry(module: Any, name: str) -> list[str]:
    found = getattr(module, name)
    if inspect.ismodule(found):
        return [f".. automodule:: {found.__name__}", "   :members:", "   :imported-members:", ""]
    if inspect.isclass(found):
        return [f".. autoclass:: {name}", "   :members:", ""]
    return [f".. auto{'function' if callable(found) and hasattr(found, '__name__') else 'data'}:: {name}", ""]


class Commands(_Generated):
    """``.. commands::``: what ``dpverdict COMMAND --help`` prints, for every command."""

    def run(self) -> list[nodes.Node]:
        """A section for each command."""
        runner = CliRunner(
            env={"COLUMNS": str(COLUMNS), "TERMINAL_WIDTH": str(COLUMNS), "NO_COLOR": "1", "TERM": "dumb"}
        )
        made: list[nodes.Node] = []
        known: dict[str, typer.core.TyperCommand] = typer.main.get_command(dpverdict).commands  # type: ignore[attr-defined]
        for words in ([name, *rest] for name in known for rest in ((), *([part] for part in _parts(known[name])))):
            text = "\n".join(line.rstrip() for line in runner.invoke(dpverdict, [*words, "--help"]).output.splitlines())
            section = nodes.section(ids=[f"dpverdict-{'-'.join(words)}"])
            section += nodes.title("", f"dpverdict {' '.join(words)}")
            section += nodes.literal_block(text.strip("\n"), text.strip("\n"), language="text")
            made.append(section)
        return made


def _parts(command: object) -> list[str]:
    """The commands of a group of commands; none of any other."""
    return list(getattr(command, "commands", {}))


class Fields(_Generated):
    """``.. fields:: module.Type`` or ``package/file.schema.json``: the fields of a document, from its JSON schema."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A table of the fields, those within others by their path."""
        schema = _schema_of(self.arguments[0])
        lines = [".. list-table::", "   :header-rows: 1", "   :widths: 30 15 55", ""]
        for row in [("field", "type", "what it is"), *_fields(schema, schema, "")]:
            first, *rest = (cell.replace("\\", "\\\\").replace("*", r"\*").replace("|", r"\|") for cell in row)
            lines += [f"   * - {first}", *(f"     - {cell}" for cell in rest)]
        return self.parsed([*lines, ""])


def _schema_of(name: str) -> dict[str, Any]:
    package, _, file = name.rpartition("/")
    if package:
        text = (importlib.resources.files(package.replace("/", ".")) / file).read_text(encoding="utf-8")
        found: dict[str, Any] = json.loads(text)
        return found
    module, _, kind = name.rpartition(".")
    return json_schema(getattr(importlib.import_module(module), kind))


def _fields(schema: dict[str, Any], whole: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """The rows of the fields of an object, of its alternatives and of the entries of its arrays, in their order."""
    schema = _resolved(schema, whole)
    for name, field in schema.get("properties", {}).items():
        found = _resolved(field, whole)
        place = f"{path}.{name}" if path else name
        said = field.get("description") or found.get("description", "")
        yield f"``{place}``", _type_of(found, whole), said
        yield from _fields(found, whole, place)
    for alternative in [*schema.get("oneOf", []), *schema.get("anyOf", [])]:
        yield from _fields(alternative, whole, path)
    if isinstance(schema.get("items"), dict):
        yield from _fields(schema["items"], whole, f"{path}[]")


def _resolved(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        found: Any = whole
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def _type_of(schema: dict[str, Any], whole: dict[str, Any]) -> str:
    schema = _resolved(schema, whole)
    if "const" in schema:
        return f"``{json.dumps(schema['const'])}``"
    if "enum" in schema:
        return " or ".join(f"``{json.dumps(value)}``" for value in schema["enum"])
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return " or ".join(types)
    alternatives = [*schema.get("oneOf", []), *schema.get("anyOf", [])]
    return " or ".join(dict.fromkeys(_type_of(one, whole) for one in alternatives)) or "any"


def _inline_formula(translator: Any, node: nodes.math) -> None:
    translator.body.append(formula_svg(node.astext()))
    raise nodes.SkipNode


def _formula(translator: Any, node: nodes.math_block) -> None:
    lines = [formula_svg(line.strip()) for line in node.astext().splitlines() if line.strip()]
    translator.body.append("".join(f'<p class="formula">{line}</p>' for line in lines))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx. Formulas are drawn by Matplotlib: a page loads neither scripts nor fonts for them."""
    app.add_directive("names", Names)
    app.add_directive("commands", Commands)
    app.add_directive("fields", Fields)
    app.add_html_math_renderer("mathtext", (_inline_formula, None), (_formula, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
