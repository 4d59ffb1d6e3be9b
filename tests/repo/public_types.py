"""Judge what pyright says of the types that users of the installed package see.

The modules of the papers are left out: what they define beside their statements are symbols of SymPy, which ships no
types. Everything else that is not private has a type that is written down, so that every type checker sees the same.

Usage: pyright --verifytypes dpverdict --ignoreexternal --outputjson | python3 tests/repo/public_types.py
"""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

OF_A_PAPER = re.compile(r"dpverdict\.proofs\.(\w+\d{4}|new_results)(_\w+)?\.")
FEWEST = 3000  # symbols: fewer mean that the package was not found, or not read


def untyped(report: dict[str, Any]) -> Iterator[str]:
    """Every public symbol whose type is unknown or inferred, with what pyright says of it."""
    for symbol in report["typeCompleteness"]["symbols"]:
        if symbol["isExported"] and not symbol["isTypeKnown"] and not OF_A_PAPER.match(symbol["name"]):
            reasons = "; ".join(" ".join(found["message"].split()) for found in symbol["diagnostics"])
            yield f"{symbol['name']}: {reasons or 'a part of it has no type'}"


def main() -> int:
    report = json.load(sys.stdin)
    found, symbols = list(untyped(report)), len(report["typeCompleteness"]["symbols"])
    print("\n".join(found), end="\n" if found else "")
    if symbols < FEWEST:
        print(f"only {symbols} symbols were read; {FEWEST} at least were expected")
    print(f"public symbols without a written type: {len(found)} of {symbols}")
    return 1 if found or symbols < FEWEST else 0


if __name__ == "__main__":
    sys.exit(main())
