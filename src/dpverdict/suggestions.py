"""Words for an error: what a word that nobody knows was probably meant for, and a list in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Final

_WORTH_COMPARING: Final = 3
"""Letters of a word that may be the beginning of another."""


def close_to(word: str, known: Iterable[str]) -> list[str]:
    """Up to three known words that a word may be meant for: one begins the other, or most of their letters agree.

    >>> close_to("--eps", ["--dim", "--epsilon", "--steps"]), close_to("--sgima", ["--dim", "--sigma", "--s"])
    (['--epsilon'], ['--sigma'])
    """
    bare, words = word.lstrip("-").lower(), {one.lstrip("-").lower(): one for one in known}
    long = [one for one in words if min(len(one), len(bare)) >= _WORTH_COMPARING]
    begun = [one for one in long if one.startswith(bare)]
    # a slip in a longer word is nearer than a word that it happens to begin, or that begins it
    alike = get_close_matches(bare, words, n=3, cutoff=0.8 if begun else 0.6)
    begins = [] if alike else [one for one in long if bare.startswith(one)]
    found = dict.fromkeys([*alike, *begun, *begins])
    return [words[one] for one in sorted(found, key=lambda one: -SequenceMatcher(None, one, bare).ratio())[:3]]


def nearest(word: str, known: Iterable[str]) -> str:
    """A question that begins a remedy, with the known words that an unknown one is close to; "" if there are none.

    >>> nearest("claims", ["claim", "dim"])
    'did you mean claim? '
    """
    close = close_to(word, known)
    return f"did you mean {' or '.join(close)}? " if close else ""


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    >>> listed(["dim", "epsilon", "delta"])
    'dim, epsilon and delta'
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
