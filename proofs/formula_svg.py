"""Formulas as drawings inside a page: no fonts, no scripts, no network."""

from __future__ import annotations

from html import escape

_COMMANDS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}
_SIZE = 16.0


def formula_svg(formula: str) -> str:
    """A formula in the LaTeX subset of Matplotlib's mathtext as an inline SVG in the colour of the text around it.

    >>> formula_svg("x^2").startswith("<svg")
    True
    """
    from matplotlib import rc_context
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    with rc_context({"mathtext.fontset": "dejavusans", "text.usetex": False}):
        path = TextPath((0, 0), f"${formula}$", size=_SIZE, prop=FontProperties(family="DejaVu Sans"))
    parts = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        pairs = [f"{x:.1f} {-y:.1f}" for x, y in points.reshape(-1, 2)] if code != 79 else []
        parts.append(_COMMANDS[int(code)] + " ".join(pairs))
    box = path.get_extents()
    left, top, width, height = box.x0 - 1, -box.y1 - 1, box.width + 2, box.height + 2
    return (
        f'<svg class="formula" role="img" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" '
        f'style="width:{width / _SIZE:.2f}em"><title>{escape(formula)}</title>'
        f'<path fill="currentColor" d="{"".join(parts)}"/></svg>'
    )
