"""``python -m dpverdict.cli``; the current folder, which ``-m`` puts first, is no place to import this program from."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

from dpverdict.cli.application import main

if __name__ == "__main__":
    sys.exit(main())
