"""How long short commands take: processor time, as a multiple of that of an interpreter that imports NumPy.

A multiple depends little on the machine and on its load; seconds do. A command is run five times, and the least counts.

    python benchmarks/commands.py
"""

import os
import subprocess
import sys

CERTIFY = (
    "from dpverdict.audit import certify; from dpverdict.mechanisms import CorrelatedGaussian; "
    "certify(CorrelatedGaussian(dim=100, mu=1)).require()"
)
COMMANDS = {
    "import numpy": ["-c", "import numpy"],
    "certify(CorrelatedGaussian(dim=100, mu=1))": ["-c", CERTIFY],
    "dpverdict --help": ["-m", "dpverdict.cli", "--help"],
    "dpverdict list": ["-m", "dpverdict.cli", "list"],
    "dpverdict calibrate gaussian": [
        *("-m", "dpverdict.cli", "calibrate", "gaussian", "--claim", "eps=1, delta=1e-6", "--sensitivity", "1"),
    ],
    "dpverdict audit --no-test": [
        *("-m", "dpverdict.cli", "audit", "correlated-gaussian", "--dim", "100", "--mu", "1", "--no-test"),
    ],
}
RUNS = 5


def seconds(words: list[str]) -> float:
    """The least processor time of a few runs, user and system."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    found = []
    for _ in range(RUNS):
        child = subprocess.Popen([sys.executable, *words], env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        assert status == 0, words
        child.returncode = 0
        found.append(usage.ru_utime + usage.ru_stime)
    return min(found)


def main() -> None:
    unit = seconds(COMMANDS["import numpy"])
    for name, words in COMMANDS.items():
        took = seconds(words)
        print(f"{name:45} {took:6.2f} s  {took / unit:6.1f}")


if __name__ == "__main__":
    main()
