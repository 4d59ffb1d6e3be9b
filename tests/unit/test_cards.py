"""The card of a notebook: a badge, a sentence, a table for each kind of evidence, and no markup of a user's."""

import re

import pytest

from dpverdict.cards import GROUNDS, MARKS, card


def shown(status: str = "CERTIFIED", **changes: object) -> str:
    evidence = {"exact": {"mu": "[0.9, 1]"}, "statistical": {}}
    return card(
        **{"status": status, "name": "m", "claim": "mu=1", "answer": "It holds.", "evidence": evidence, **changes}
    )


@pytest.mark.parametrize("status", sorted(MARKS))
def test_the_badge_says_the_status_in_words_and_colour(status: str) -> None:
    text = shown(status)
    assert f"{MARKS[status]} {status}</span>" in text
    assert GROUNDS[status] in text
    assert not any(other in text for other in MARKS.keys() - {status})


def test_a_kind_of_evidence_without_values_has_no_table() -> None:
    text = shown()
    assert re.findall(r"<caption[^>]*>([^<]*)</caption>", text) == ["exact"]
    assert shown(evidence={}).count("<table") == 0
    assert shown(evidence={"exact": {"a": "1"}, "statistical": {"b": "2"}}).count("<table") == 2


@pytest.mark.parametrize("place", ["name", "claim", "answer"])
def test_no_text_of_a_user_becomes_markup(place: str) -> None:
    text = shown(**{place: "<script>alert(1)</script>"})
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "<b>" not in shown(evidence={"<b>": {"<b>": "<b>"}})


def test_the_words_stand_out_from_their_ground() -> None:
    """White on each colour, by the contrast ratio of WCAG 2: at least 4.5."""
    for ground in GROUNDS.values():
        parts = [int(ground[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5
