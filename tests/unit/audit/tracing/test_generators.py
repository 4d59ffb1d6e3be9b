"""How the generator of a function was started: what is made of it where that is the operating system, and where not."""

import importlib.util
import itertools
import linecache
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.tables.schema import TableSchema
from dpverdict.audit.tracing.certify import certify_function
from dpverdict.audit.tracing.verdict import TracedVerdict

HEAD = "import random\nimport secrets\nimport numpy as np\nimport scipy.stats\n"
BODY = "def f(x):\n    return x[:, 0].sum() + rng.laplace(scale=100)\n"
COPY = "import copy\nrng = np.random.default_rng()\n"
TOLD = "def f(x):\n    return x[:, 0].sum() + rng.laplace(scale=100), {}.laplace(scale=100)\n"
"""The same draw is made again by a copy of the generator, and shown."""
LAPLACE, TWO_HALVES = "rng.laplace(scale=100)", "rng.expovariate(0.01) - rng.expovariate(0.01)"
GLOBAL = "def f(x):\n    return x[:, 0].sum() + np.random.laplace(scale=100)\n"
SCHEMA = TableSchema.from_toml(
    'relation = "add-or-remove-one"\ntable = "numpy"\n'
    + "".join(f'[columns.{name}]\ntype = "float"\nlow = 0\nhigh = 100\n' for name in "abc")
)
Ask = Callable[..., TracedVerdict]

FRESH = {
    "default_rng": "rng = np.random.default_rng()\n" + BODY,
    "imported by its name": "from numpy.random import default_rng\nrng = default_rng()\n" + BODY,
    "RandomState": "rng = np.random.RandomState()\n" + BODY,
    "of a bit generator": "rng = np.random.Generator(np.random.PCG64())\n" + BODY,
    "annotated": "rng: np.random.Generator = np.random.default_rng()\n" + BODY,
    "started from None": "rng = np.random.default_rng(seed=None)\n" + BODY,
    "started from many random bits": "rng = np.random.default_rng(secrets.randbits(128))\n" + BODY,
    "Python's own": "rng = random.Random()\n" + BODY.replace(LAPLACE, TWO_HALVES),
    "of the system": "rng = random.SystemRandom()\n" + BODY.replace(LAPLACE, TWO_HALVES),
    "a default": "def f(x, rng=np.random.default_rng()):\n    return x[:, 0].sum() + rng.laplace(scale=100)\n",
    "the default of a helper": "def noisy(v, rng=np.random.default_rng()):\n    return v + rng.laplace(scale=100)\n"
    "def f(x):\n    return noisy(x[:, 0].sum())\n",
    "handed to a helper": "rng = np.random.default_rng()\ndef noisy(v, r):\n    return v + r.laplace(scale=100)\n"
    "def f(x):\n    return noisy(x[:, 0].sum(), rng)\n",
    "two of them": "rng = np.random.default_rng()\nother = np.random.default_rng()\ndef f(x):\n"
    "    return x[:, 0].sum() + rng.laplace(scale=200), x[:, 1].sum() + other.laplace(scale=200)\n",
    "for scipy": "rng = np.random.default_rng()\ndef f(x):\n"
    "    return x[:, 0].sum() + scipy.stats.laplace.rvs(scale=100, random_state=rng)\n",
    "made inside": "def f(x):\n    rng = np.random.Generator(np.random.PCG64())\n"
    "    return x[:, 0].sum() + rng.laplace(scale=100)\n",
    "seed=None": "def f(x, seed=None):\n    rng = np.random.default_rng(seed)\n"
    "    return x[:, 0].sum() + rng.laplace(scale=100)\n",
    "rng=None": "def f(x, rng=None):\n    rng = np.random.default_rng() if rng is None else rng\n"
    "    return x[:, 0].sum() + rng.laplace(scale=100)\n",
    "used by another function": "rng = np.random.default_rng()\ndef g(x):\n    return noisy(x, rng)\n" + BODY,
    "used as a script": "rng = np.random.default_rng()\n" + BODY + "if __name__ == '__main__':\n    print(f(rng))\n",
    "numbers drawn before": "rng = np.random.default_rng()\nFIRST = rng.normal(size=3)\n" + BODY,
}
KNOWN = {
    "default_rng": "rng = np.random.default_rng(0)\n" + BODY,
    "by keyword": "rng = np.random.default_rng(seed=42)\n" + BODY,
    "by a name": "SEED = 42\nrng = np.random.default_rng(SEED)\n" + BODY,
    "RandomState": "rng = np.random.RandomState(0)\n" + BODY,
    "Python's own": "rng = random.Random(5)\n" + BODY.replace("rng.laplace(scale=100)", "rng.gauss(0, 1e9)"),
    "a bit generator": "rng = np.random.Generator(np.random.PCG64(1))\n" + BODY,
    "few random bits": "rng = np.random.default_rng(secrets.randbits(8))\n" + BODY,
    "a default": "def f(x, rng=np.random.default_rng(0)):\n    return x[:, 0].sum() + rng.laplace(scale=100)\n",
    "inside": "def f(x):\n    rng = np.random.default_rng(0)\n    return x[:, 0].sum() + rng.laplace(scale=100)\n",
    "a parameter": "def f(x, seed=0):\n    rng = np.random.default_rng(seed)\n"
    "    return x[:, 0].sum() + rng.laplace(scale=100)\n",
    "seed()": "np.random.seed(0)\n" + GLOBAL,
    "seed() by its name": "from numpy.random import seed\nseed(0)\n" + GLOBAL,
    "another bit generator": "np.random.set_bit_generator(np.random.MT19937(0))\n" + GLOBAL,
    "scipy": "def f(x):\n    return x[:, 0].sum() + scipy.stats.laplace.rvs(scale=100, random_state=0)\n",
}
UNSEEN = {
    "bound twice": "rng = np.random.default_rng()\nrng = np.random.default_rng(0)\n" + BODY,
    "bound in a branch": "rng = np.random.default_rng()\nif True:\n    rng = np.random.default_rng(0)\n" + BODY,
    "bound by a loop": "for rng in [np.random.default_rng(0)]:\n    pass\n" + BODY,
    "bound by a walrus": "rng = np.random.default_rng()\n(rng := np.random.default_rng(0))\n" + BODY,
    "bound by a function": "rng = np.random.default_rng()\ndef start():\n    global rng\n"
    "    rng = np.random.default_rng(0)\nstart()\n" + BODY,
    "bound by globals": "rng = np.random.default_rng()\nglobals()['rng'] = np.random.default_rng(0)\n" + BODY,
    "bound by a star": "rng = np.random.default_rng()\nfrom math import *\n" + BODY,
    "its state is set": "rng = np.random.default_rng()\n"
    "rng.bit_generator.state = np.random.default_rng(0).bit_generator.state\n" + BODY,
    "its state is kept": "rng = np.random.default_rng()\nFIRST = rng.bit_generator.state\n" + BODY,
    "its state is set inside": "def f(x, rng):\n    rng.bit_generator.state = {}\n"
    "    return x[:, 0].sum() + rng.laplace(scale=100)\n",
    "another default_rng": "import functools\ndefault_rng = functools.partial(np.random.default_rng, 0)\n"
    "rng = default_rng()\n" + BODY,
    "another numpy": "class np:\n    class random:\n        default_rng = staticmethod(lambda: random.Random(0))\n"
    "rng = np.random.default_rng()\n" + BODY,
    "a copy": "import copy\nrng = np.random.default_rng()\nother = copy.deepcopy(rng)\n"
    + BODY.replace("rng.", "other."),
    "of the same bits": "rng = np.random.default_rng()\nother = np.random.Generator(rng.bit_generator)\n"
    + BODY.replace("rng.", "other."),
    "a copy in a list": COPY + "SAVED = [copy.deepcopy(rng)]\n" + TOLD.format("SAVED[0]"),
    "a copy in an object": COPY
    + "class Kept:\n    pass\nkept = Kept()\nkept.rng = copy.deepcopy(rng)\n"
    + TOLD.format("kept.rng"),
    "a copy in a class": COPY + "class Kept:\n    rng = copy.deepcopy(rng)\n" + TOLD.format("Kept.rng"),
    "a copy by a function": COPY
    + "def keep():\n    return copy.deepcopy(rng)\nSAVED = (keep(),)\n"
    + TOLD.format("SAVED[0]"),
    "a copy in an iterator": COPY + "def keep():\n    return copy.deepcopy(rng)\nown = keep()\n"
    "SAVED = iter(lambda: own.laplace(scale=100), None)\n" + TOLD.replace("{}.laplace(scale=100)", "next(SAVED)"),
    "a copy of that of NumPy": "import copy\nSAVED = [copy.deepcopy(np.random.mtrand._rand)]\n"
    + TOLD.replace("rng.", "np.random.").format("SAVED[0]"),
    "in a list": "rng = [np.random.default_rng()]\n" + BODY.replace("rng.", "rng[0]."),
    "in a closure": "def outer():\n    rng = np.random.default_rng()\n    def f(x):\n"
    "        return x[:, 0].sum() + rng.laplace(scale=100)\n    return f\nf = outer()\n",
    "another np.random.laplace": "np.random.laplace = np.random.RandomState(0).laplace\n" + GLOBAL,
}


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Loads the text of a module, and asks of its function f."""
    monkeypatch.setattr(np.random, "laplace", np.random.laplace)  # put back, whatever a module does with it
    own, made = np.random.get_bit_generator(), []
    count = itertools.count()

    def asked(text: str, *, seconds: float = 0) -> TracedVerdict:
        path = tmp_path / f"module_{next(count)}.py"
        path.write_text(text)
        linecache.checkcache()
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        made.append(path.stem)
        spec.loader.exec_module(module)
        function: Any = module.f
        return certify_function(function, "eps=1", schema=SCHEMA, search=seconds)

    state = np.random.get_state()  # noqa: NPY002
    yield asked
    np.random.set_bit_generator(own)
    np.random.set_state(state)  # noqa: NPY002
    for name in made:
        del sys.modules[name]


@pytest.mark.parametrize("name", FRESH)
def test_a_generator_that_the_operating_system_starts_is_covered(name: str, ask: Ask) -> None:
    verdict = ask(HEAD + FRESH[name])
    assert verdict.status is Status.CERTIFIED or verdict.true_from == pytest.approx(1, rel=1e-15), verdict.text()


@pytest.mark.parametrize("name", KNOWN)
def test_a_generator_that_is_started_from_a_number_is_not(name: str, ask: Ask) -> None:
    verdict = ask(HEAD + KNOWN[name])
    assert verdict.status is Status.INCONCLUSIVE
    assert not verdict.covered
    assert "started from a number" in verdict.reason or "fixed number" in verdict.reason


@pytest.mark.parametrize("name", UNSEEN)
def test_a_generator_of_which_nobody_sees_the_start_is_not(name: str, ask: Ask) -> None:
    verdict = ask(HEAD + UNSEEN[name])
    assert verdict.status is Status.INCONCLUSIVE
    assert not verdict.covered


def test_a_generator_of_another_module_is_covered(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_noise.py").write_text(
        "import numpy as np\nRNG = np.random.default_rng()\nOLD = np.random.default_rng(1)\n"
    )
    body = "def f(x):\n    return x[:, 0].sum() + {}.laplace(scale=100)\n"
    assert ask("from own_noise import RNG\n" + body.format("RNG")).status is Status.CERTIFIED
    assert ask("from own_noise import RNG as r\n" + body.format("r")).status is Status.CERTIFIED
    assert ask("import own_noise\n" + body.format("own_noise.RNG")).status is Status.CERTIFIED
    assert not ask("from own_noise import OLD\n" + body.format("OLD")).covered
    assert not ask("import own_noise\n" + body.format("own_noise.OLD")).covered
    del sys.modules["own_noise"]


@pytest.mark.slow
def test_noise_that_everybody_can_compute_is_refuted(ask: Ask) -> None:
    assert ask(HEAD + KNOWN["inside"], seconds=10).status is Status.REFUTED
