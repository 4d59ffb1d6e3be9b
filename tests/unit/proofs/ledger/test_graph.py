"""The drawing of what rests on what: every need is a line to the right, and nothing else is drawn."""

import re
from html import unescape

from dpverdict.proofs.checks.registry import matching
from dpverdict.proofs.ledger.graph import levels, needs_svg
from dpverdict.proofs.ledger.html import CLASSES, render_html
from dpverdict.proofs.ledger.ledger import Ledger, make_ledger

NUMBERS = ("def.sens", "egm.worst", "egm.privacy")


def drawn() -> Ledger:
    return make_ledger([found for number in NUMBERS for found in matching("poulsen2022", number)])


def test_what_is_needed_stands_to_the_left_and_every_line_is_a_need() -> None:
    ledger = drawn()
    outcomes = [entry.outcome for entry in ledger.entries]
    columns = levels(outcomes)
    where = {anchor: x for x, column in enumerate(columns) for anchor in column}
    needs = [(one.anchor, need.anchor) for one in outcomes for need in one.needs if need.paper == one.paper]
    assert needs
    assert all(where[below] < where[above] for above, below in needs)
    page = needs_svg(ledger, "poulsen2022", CLASSES)
    assert page.count('class="needs"') == len(needs)
    assert set(re.findall(r'href="#([^"]+)"', page)) == set(where)
    assert all(unescape(one.label) in page for one in outcomes)
    whole = render_html(ledger)
    links = {unescape(link) for link in re.findall(r'href="#([^"]+)"', whole)}
    assert links <= {unescape(name) for name in re.findall(r'id="([^"]+)"', whole)}
    assert "fact.gauss (lebeda2024)" in whole, "of a paper that is not on the page"


def test_nothing_is_drawn_where_nothing_is_needed(ledger: Ledger) -> None:
    alone = Ledger(tuple(entry for entry in ledger.entries if not entry.outcome.needs)[:1])
    assert needs_svg(alone, "lebeda2024", CLASSES) == ""
