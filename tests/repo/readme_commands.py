"""Print a command of the README, so that what the README says is what the gate runs.

A command is a fenced block that follows its mark:

    <!-- command: test -->
    ```sh
    ...
    ```

Usage: python3 tests/repo/readme_commands.py test
"""

import re
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
COMMAND = re.compile(r"^<!-- command: (?P<name>\w+) -->\n```\w*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(text: str) -> dict[str, str]:
    """The marked commands of a Markdown text, by name."""
    found: dict[str, str] = {}
    for match in COMMAND.finditer(text):
        if match["name"] in found:
            raise ValueError(f"command={match['name']!r} is marked twice; give each block its own name")
        found[match["name"]] = match["body"]
    if len(found) != text.count("<!-- command:"):
        raise ValueError("a '<!-- command: NAME -->' mark must be followed at once by a fenced block")
    return found


if __name__ == "__main__":
    print(commands(README.read_text(encoding="utf-8"))[sys.argv[1]], end="")
