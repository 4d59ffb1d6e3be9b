"""``python -m dpverdict.cli``."""

import sys

from dpverdict.cli.application import main

if __name__ == "__main__":
    sys.exit(main())
