"""How Sphinx makes the site from these pages: see tools/site.py and docs/decisions/0003-the-site.md."""

import re
import sys
from pathlib import Path

from numpy.typing import ArrayLike
from sphinx.util.typing import stringify_annotation

import dpverdict
from dpverdict.audit.trials.run import AnyMechanism
from dpverdict.balls import Exact
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.mechanism import Array

project = "dpverdict"
author = "the dpverdict authors"
copyright = author
version = release = dpverdict.__version__

sys.path.insert(0, str(Path(__file__).parent))
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "matplotlib.sphinxext.plot_directive",
    "directives",
]
plot_formats = ["svg"]
plot_basedir = str(Path(__file__).parent)
plot_html_show_formats = False
plot_html_show_source_link = False
plot_rcparams = {"figure.constrained_layout.use": True, "font.size": 9}
autosummary_generate = False
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "dollarmath"]

html_math_renderer = "mathtext"
html_theme = "furo"
html_title = f"dpverdict {release}"
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "monokai"

add_module_names = False
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "code"

# Names that stand in the signatures for what they are short for, the longest first.
_ALIASES = {
    "AnyMechanism": AnyMechanism,
    "Guarantee": Guarantee,
    "ArrayLike": ArrayLike,
    "Exact": Exact,
    "Array": Array,
}
_SHORT = {stringify_annotation(meaning, "smart"): name for name, meaning in _ALIASES.items()}

_LITERAL = re.compile(r"(``.*?``|`[^`]*`)")


def _plain(lines: list[str]) -> None:
    """Docstrings here are plain text: a star, a bar or a final underscore is itself, an indented block is as typed."""
    made: list[str] = []
    block = False  # within an indented block after a paragraph: code or a formula
    in_list = False
    section = False  # within Args:, Raises: and the like, whose entries are indented
    for line in lines:
        bare = line.strip()
        indented = line.startswith("    ")
        if re.fullmatch(r"(Args|Attributes|Returns|Raises|Yields|Example|Examples):", line):
            section = True
        elif bare and not indented:
            section = False
        if bare.startswith((">>>", "...")):
            made.append(line)
            continue
        if bare.startswith("* ") and made and made[-1].strip() and not in_list:
            made.append("")
        in_list = bool(bare) and (bare.startswith("* ") or in_list)
        if indented and not section and not block and (not made or not made[-1].strip()):
            made += ["::", ""]
            block = True
        elif bare and not indented:
            block = False
        made.append(line if block else _escaped(line))
    lines[:] = made


def _escaped(line: str) -> str:
    if line.lstrip().startswith("* "):  # an entry of a list
        star = line.index("*") + 2
        return line[:star] + _escaped(line[star:])
    parts = _LITERAL.split(line)
    parts[::2] = [re.sub(r"([*|])", r"\\\1", re.sub(r"(\w)_(?!\w)", r"\1\\_", part)) for part in parts[::2]]
    return "".join(parts)


def setup(app):  # type: ignore[no-untyped-def]
    """Called by Sphinx; the first handler goes before that of napoleon, which reads the sections."""

    kept: dict[str, list[str]] = {}

    def docstring(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
        _plain(lines)
        kept[name] = list(lines)

    def attribute(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
        if what in ("attribute", "data", "property"):  # napoleon took the words before a colon for a type
            lines[:] = kept.get(name, lines)

    def signature(app, what, name, obj, options, arguments, result):  # type: ignore[no-untyped-def]
        return _named(arguments), _named(result)

    app.connect("autodoc-process-docstring", docstring, priority=400)
    app.connect("autodoc-process-docstring", attribute, priority=600)
    app.connect("autodoc-process-signature", signature)


def _named(text: str | None) -> str | None:
    """Aliases of types by their names."""
    for long in sorted(_SHORT, key=len, reverse=True):
        text = text and text.replace(long, _SHORT[long])
    return text
