"""The samplers that are tapped: NumPy's generators and functions, `random`, `secrets`, `os.urandom`, `scipy.stats`.

A generator is replaced by one that derives from its class, so that code which asks for the class still gets it. What a
library imported by name before, and compiled code, keep the originals: their draws are not seen, and a second run on
the same data shows that there were some.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import scipy

from dpverdict.audit.implementation.tap.tagged_numbers import (
    TaggedArray,
    bare,
    capable,
    has_tags,
    joined,
    linear,
    tagged,
    wrapped,
)
from dpverdict.audit.implementation.tap.tape import THIS_ROOM, Choice, UnknownLaw, caller, current, place
from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.exponential import Exponential
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.geometric import Geometric
from dpverdict.audit.laws.registry import numpy_laws, scipy_laws
from dpverdict.audit.laws.uniform import Uniform

Replaced = tuple[Any, str, Any]

_CAPABLE_MOST: Final = 1 << 20
_NOT_FOR: Final = ("numpy", "scipy", "pandas", "sklearn", "torch", "opacus", "matplotlib", "joblib")


def _shape(size: Any, *parameters: Any) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*(np.shape(bare(one)) for one in parameters))
    return (int(size),) if np.ndim(size) == 0 else tuple(int(n) for n in size)


def additive(what: str, law: Law, unit: Callable[[tuple[int, ...]], Any], loc: Any, scale: Any, size: Any) -> Any:
    """loc + scale * unit draws."""
    tape = current()
    assert tape is not None
    shape = _shape(size, loc, scale)
    if caller().startswith(ADAPTED):  # its noise comes through its own primitives: this picks or starts something
        draw = tape.draw(what, None, shape, lambda: np.asarray(unit(shape)), structural=True)
        values = bare(draw.values) * (1.0 if scale is None else bare(scale)) + (0.0 if loc is None else bare(loc))
        return values if shape else float(values)
    draw = tape.draw(what, law, shape, lambda: np.asarray(unit(shape)))
    return tagged(draw, loc=loc, scale=scale)


ADAPTED: Final = ("diffprivlib", "sklearn", "opacus", "joblib", "multiprocessing", "tempfile", "uuid")
"""Modules whose own draws, outside of the primitives that are tapped, are not noise."""


def other(what: str, make: Callable[[], Any], *, structural: bool = False, told: tuple[object, ...] = ()) -> Any:
    """A draw of which only the value is known."""
    tape = current()
    assert tape is not None
    structural = structural or caller().startswith(ADAPTED)
    shape: tuple[int, ...] = ()
    law = None if structural else UnknownLaw(what)
    found = tape.draw(what, law, shape, make, structural=structural, told=told)
    values = found.values
    return values.copy() if isinstance(values, np.ndarray) else list(values) if isinstance(values, list) else values


def _chosen(what: str, a: Any, size: Any, replace: Any, p: Any, make: Callable[[Any], Any]) -> Any:
    """``choice``: with one outcome and probabilities it is an outcome of known law, otherwise only a draw."""
    tape = current()
    assert tape is not None
    items = np.arange(int(a)) if np.ndim(a) == 0 else np.asarray(bare(a))
    shape = _shape(size)
    count = int(np.prod(shape, dtype=np.int64))
    if p is None:
        picked = other(what, lambda: make(len(items)), structural=True, told=(len(items), shape))
        return items[picked] if not isinstance(a, list) or size is not None else a[int(picked)]
    weights = np.broadcast_to(np.asarray(bare(p), dtype=np.float64), (max(1, count), len(items)))
    known = None if replace or count == 1 else "a choice without replacement"
    with tape.silence():
        first = np.asarray(make(len(items))) if not tape.replaying else np.zeros(shape, dtype=np.int64)
    picked = tape.choice(Choice(what, weights, first, place(), open=known))
    return items[picked]


# numpy ----------------------------------------------------------------------------------------------------------------

_STRUCTURAL: Final = (
    "integers",
    "random_integers",
    "randint",
    "permutation",
    "permuted",
    "bytes",
    "tomaxint",
    "rand_int",
)
_UNKNOWN: Final = (
    "beta", "binomial", "chisquare", "dirichlet", "f", "gamma", "standard_gamma", "hypergeometric", "lognormal",
    "logistic", "logseries", "multinomial", "multivariate_hypergeometric", "multivariate_normal", "negative_binomial",
    "noncentral_chisquare", "noncentral_f", "pareto", "poisson", "power", "rayleigh", "standard_cauchy", "standard_t",
    "triangular", "vonmises", "wald", "weibull", "zipf",
)  # fmt: skip


def _methods(base: type, own: Callable[[str], Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Tapped methods of a generator; ``own`` gives the original function of a name, called with the generator."""

    def located(name: str, law: Law) -> Callable[..., Any]:
        """A method that draws loc + scale times a variable of the law."""

        def method(self: Any, loc: Any = None, scale: Any = 1.0, size: Any = None) -> Any:
            if current() is None:
                return own(name)(self, 0.0 if loc is None else loc, scale, size)
            return additive(name, law, lambda shape: own(name)(self, size=shape), loc, scale, size)

        return method

    def standard_normal(self: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        if current() is None or args or kwargs.get("out") is not None:
            return own("standard_normal")(self, size, *args, **kwargs)
        unit = lambda shape: own("standard_normal")(self, size=shape)  # noqa: E731
        return additive("standard_normal", Gaussian(), unit, None, None, size)

    def exponential(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
        if current() is None:
            return own("exponential")(self, scale, size)
        unit = lambda shape: own("standard_exponential")(self, size=shape)  # noqa: E731
        return additive("exponential", Exponential(), unit, None, scale, size)

    def standard_exponential(self: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        if current() is None or args or kwargs.get("out") is not None:
            return own("standard_exponential")(self, size, *args, **kwargs)
        unit = lambda shape: own("standard_exponential")(self, size=shape)  # noqa: E731
        return additive("standard_exponential", Exponential(), unit, None, None, size)

    def uniform(self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if current() is None:
            return own("uniform")(self, low, high, size)
        width = np.subtract(bare(high), bare(low))
        where = low if np.any(bare(low)) else None  # from 0 on, it may be a coin
        return additive("uniform", Uniform(), lambda shape: own("uniform")(self, size=shape), where, width, size)

    def uniform_of(name: str) -> Callable[..., Any]:
        def method(self: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
            if current() is None or args or kwargs.get("out") is not None:
                return own(name)(self, size, *args, **kwargs)
            return additive(name, Uniform(), lambda shape: own(name)(self, size=shape), None, None, size)

        return method

    def geometric(self: Any, p: Any, size: Any = None) -> Any:
        if current() is None:
            return own("geometric")(self, p, size)
        if np.ndim(bare(p)):
            return other("geometric", lambda: own("geometric")(self, bare(p), size))
        law = Geometric.of_scipy(float(bare(p)))
        if law is None:
            return other("geometric", lambda: own("geometric")(self, bare(p), size))
        unit = lambda shape: np.asarray(own("geometric")(self, bare(p), size=shape), dtype=np.int64) - 1  # noqa: E731
        return additive("geometric", law, unit, 1, None, size)

    def choice(self: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None, *args: Any, **kw: Any) -> Any:
        if current() is None or np.ndim(a) > 1:
            return own("choice")(self, a, size, replace, p, *args, **kw)
        given = {"p": bare(p)} if p is not None else {}
        return _chosen("choice", a, size, replace, p, lambda n: own("choice")(self, n, size, replace, *args, **given))

    def shuffle(self: Any, x: Any, axis: int = 0) -> None:
        if current() is None or axis != 0:
            own("shuffle")(self, x, *(() if axis == 0 else (axis,)))
            return
        order = other("shuffle", lambda: own("permutation")(self, len(x)), structural=True, told=(len(x),))
        x[:] = [x[int(i)] for i in order] if isinstance(x, list) else x[order]

    found: dict[str, Callable[..., Any]] = {
        "standard_normal": standard_normal, "exponential": exponential, "standard_exponential": standard_exponential,
        "uniform": uniform, "geometric": geometric, "choice": choice, "shuffle": shuffle,
    }  # fmt: skip
    found |= {name: located(name, law()) for name, law in numpy_laws().items()}
    for name in ("random", "random_sample"):
        found[name] = uniform_of(name)
    if hasattr(base, "rand"):
        found["rand"] = lambda self, *shape: found["random_sample"](self, shape or None)
        found["randn"] = lambda self, *shape: found["standard_normal"](self, shape or None)
    found |= {name: _plain_method(own, name, structural=True) for name in _STRUCTURAL}
    found |= {name: _plain_method(own, name, structural=False) for name in _UNKNOWN if name not in found}
    return {name: method for name, method in found.items() if hasattr(base, name)}


def _plain_method(own: Callable[[str], Callable[..., Any]], name: str, *, structural: bool) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given, named = tuple(bare(one) for one in args), {key: bare(one) for key, one in kwargs.items()}
        if current() is None:
            return own(name)(self, *given, **named)
        told = () if structural and name.startswith("perm") else tuple(map(repr, (*given, *sorted(named.items()))))
        made = other(name, lambda: own(name)(self, *given, **named), structural=structural, told=told[:6])
        return made

    return method


def _tapped(base: type) -> type:
    return type(base.__name__, (base,), _methods(base, lambda name: getattr(base, name)))


TappedGenerator: Final = _tapped(np.random.Generator)
TappedRandomState: Final = _tapped(np.random.RandomState)


def generator(seed: Sequence[int] | int) -> Any:
    """A generator that is tapped while a run is looked at."""
    return TappedGenerator(np.random.PCG64(list(seed) if isinstance(seed, Sequence) else seed))


def _asks(base: type, tapped: type) -> Any:
    """The tapped class under the name of the original: whatever is of one is of the other."""

    class Meta(type):
        def __instancecheck__(cls, one: Any) -> bool:
            return isinstance(one, base)

        def __subclasscheck__(cls, one: Any) -> bool:
            return issubclass(one, base)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return tapped(*args, **kwargs)

    return Meta(base.__name__, (), {"__doc__": base.__doc__, "__module__": base.__module__})


def _numpy(rng: Any) -> list[Replaced]:
    module = np.random
    state = TappedRandomState(np.random.MT19937(rng.bit_generator.seed_seq.spawn(1)[0]))

    def default_rng(seed: Any = None) -> Any:
        _is_a_seed(seed)
        if isinstance(seed, np.random.BitGenerator):
            return TappedGenerator(seed)
        if isinstance(seed, TappedGenerator):
            return seed
        if isinstance(seed, _GENERATOR):
            return TappedGenerator(seed.bit_generator)
        return TappedGenerator(_PCG64(seed))

    found: list[Replaced] = [
        (module, "default_rng", default_rng),
        (module, "Generator", _asks(np.random.Generator, TappedGenerator)),
        (module, "RandomState", _asks(np.random.RandomState, TappedRandomState)),
        (module.mtrand, "_rand", state),
    ]
    for name in ("sample", "ranf"):
        found.append((module, name, state.random_sample))
    for name in ("seed", "get_state", "set_state"):
        found.append((module, name, getattr(state, name)))
    for name in _methods(np.random.RandomState, lambda name: lambda *_: None):
        if hasattr(module, name) and callable(getattr(module, name)):
            found.append((module, name, getattr(state, name)))
    return found


def _is_a_seed(seed: Any) -> None:
    """Random bits that start a generator are no noise: the draws of the generator are seen."""
    tape = current()
    for draw in () if tape is None or not isinstance(seed, int) else tape.draws():
        if isinstance(draw.law, UnknownLaw) and isinstance(draw.values, int) and draw.values == seed:
            draw.seeds = True


_GENERATOR: Final = np.random.Generator
_PCG64: Final = np.random.PCG64


# arrays that remember what is written to them -------------------------------------------------------------------------


def _not_for() -> bool:
    """Whether a function of NumPy is called by a library, or by the tap itself, two calls up."""
    name = str(sys._getframe(2).f_globals.get("__name__", ""))  # pyright: ignore[reportPrivateUsage]
    return name.partition(".")[0] in _NOT_FOR or name.startswith(THIS_ROOM)


def _arrays() -> list[Replaced]:
    def making(original: Any) -> Any:
        def made(*args: Any, **kwargs: Any) -> Any:
            args = tuple(bare(one) for one in args)
            found = original(*args, **kwargs)
            if current() is None or _not_for() or type(found) is not np.ndarray:
                return found
            if found.dtype.kind not in "fi" or not 0 < found.size <= _CAPABLE_MOST or not found.flags.c_contiguous:
                return found
            return capable(found)

        return made

    def converting(original: Any) -> Any:
        def made(a: Any, *args: Any, **kwargs: Any) -> Any:
            if current() is None or _not_for():
                return original(a, *args, **kwargs)
            kind = kwargs.get("dtype", args[0] if args else None)
            if kind is None or np.dtype(kind).kind == "f":
                if isinstance(a, list | tuple) and has_tags(a):
                    return joined(a)
                if isinstance(a, TaggedArray):
                    return a.copy() if original is np_array and kwargs.get("copy", True) else a
                if hasattr(a, "tap_linear"):
                    one = linear(a)
                    return wrapped(one.gather(np.zeros(1, dtype=np.int64))).reshape(())
            return original(a, *args, **kwargs)

        return made

    np_array = np.array
    made = ("zeros", "empty", "ones", "full", "zeros_like", "empty_like", "ones_like", "full_like")
    found: list[Replaced] = [(np, name, making(getattr(np, name))) for name in made]
    found += [(np, name, converting(getattr(np, name))) for name in ("array", "asarray", "asanyarray")]
    return found


# random, secrets, os --------------------------------------------------------------------------------------------------


def _random_methods(base: type, name: str) -> dict[str, Any]:
    def gauss(self: Any, mu: Any = 0.0, sigma: Any = 1.0) -> Any:
        if current() is None:
            return base.gauss(self, mu, sigma)  # type: ignore[attr-defined]
        unit = lambda shape: base.normalvariate(self, 0.0, 1.0)  # type: ignore[attr-defined]  # noqa: E731
        return additive(f"{name}.gauss", Gaussian(), unit, mu, sigma, None)

    def uniform(self: Any, a: Any, b: Any) -> Any:
        if current() is None:
            return base.uniform(self, a, b)  # type: ignore[attr-defined]
        return additive(f"{name}.uniform", Uniform(), lambda shape: base.random(self), a or None, b - a, None)  # type: ignore[attr-defined]

    def expovariate(self: Any, lambd: Any = 1.0) -> Any:
        if current() is None:
            return base.expovariate(self, lambd)  # type: ignore[attr-defined]
        unit = lambda shape: base.expovariate(self, 1.0)  # type: ignore[attr-defined]  # noqa: E731
        return additive(f"{name}.expovariate", Exponential(), unit, None, 1.0 / bare(lambd), None)

    def draw_one(self: Any) -> Any:
        if current() is None:
            return base.random(self)  # type: ignore[attr-defined]
        return additive(f"{name}.random", Uniform(), lambda shape: base.random(self), None, None, None)  # type: ignore[attr-defined]

    def choices(self: Any, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
        tape = current()
        if tape is None or (weights is None and cum_weights is None):
            if tape is None:
                return base.choices(self, population, weights, cum_weights=cum_weights, k=k)  # type: ignore[attr-defined]
            return other("choices", lambda: base.choices(self, population, k=k), structural=True, told=(k,))  # type: ignore[attr-defined]
        given = np.asarray(bare(weights) if weights is not None else np.diff([0, *cum_weights]), dtype=np.float64)
        total = given / given.sum()
        with tape.silence():
            places = base.choices(self, range(len(population)), list(total), k=k)  # type: ignore[attr-defined]
        made = Choice("choices", np.broadcast_to(total, (k, len(total))), np.asarray(places), place())
        return [population[int(i)] for i in tape.choice(made)]

    found: dict[str, Any] = {
        "gauss": gauss, "normalvariate": gauss, "uniform": uniform, "expovariate": expovariate, "random": draw_one,
        "choices": choices,
    }  # fmt: skip
    for plain_name in ("randrange", "randint", "getrandbits", "choice", "sample", "randbytes"):
        found[plain_name] = _plain_method(lambda n: getattr(base, n), plain_name, structural=True)
    for plain_name in ("betavariate", "gammavariate", "lognormvariate", "triangular", "vonmisesvariate",
                       "paretovariate", "weibullvariate", "binomialvariate"):  # fmt: skip
        if hasattr(base, plain_name):
            found[plain_name] = _plain_method(lambda n: getattr(base, n), plain_name, structural=False)

    def shuffle(self: Any, x: Any) -> None:
        if current() is None:
            base.shuffle(self, x)  # type: ignore[attr-defined]
            return
        make = lambda: base.sample(self, range(len(x)), len(x))  # type: ignore[attr-defined]  # noqa: E731
        order = other("shuffle", make, structural=True, told=(len(x),))
        x[:] = [x[i] for i in order]

    found["shuffle"] = shuffle
    return found


_PLAIN: Final = type("Random", (random.Random,), _random_methods(random.Random, "random"))
_SYSTEM: Final = type("SystemRandom", (random.SystemRandom,), _random_methods(random.SystemRandom, "SystemRandom"))


def plain_generator(seed: int) -> Any:
    """A tapped generator of `random`."""
    return _PLAIN(seed)


def system_generator() -> Any:
    """A tapped generator of the system's random bits."""
    return _SYSTEM()


def _standard(seed: int) -> list[Replaced]:
    own = plain_generator(seed)
    found: list[Replaced] = [
        (random, "Random", _asks(random.Random, _PLAIN)),
        (random, "SystemRandom", _asks(random.SystemRandom, _SYSTEM)),
        (secrets, "SystemRandom", _asks(random.SystemRandom, _SYSTEM)),
    ]
    for name in ("seed", "getstate", "setstate", *_random_methods(random.Random, "random")):
        found.append((random, name, getattr(own, name)))

    def bits(original: Any, name: str) -> Any:
        def drawn_bits(*args: Any) -> Any:
            tape = current()
            if tape is None:
                return original(*args)
            return other(name, lambda: original(*args), told=tuple(map(repr, args)))

        return drawn_bits

    for name in ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice"):
        found.append((secrets, name, bits(getattr(secrets, name), f"secrets.{name}")))
    found.append((os, "urandom", bits(os.urandom, "os.urandom")))
    return found


# scipy.stats ----------------------------------------------------------------------------------------------------------


def _scipy() -> list[Replaced]:
    distributions = scipy.stats._distn_infrastructure
    original = distributions.rv_generic.rvs

    def rvs(self: Any, *args: Any, **kwds: Any) -> Any:
        tape = current()
        if tape is None:
            return original(self, *args, **kwds)
        state, discrete = kwds.pop("random_state", None), kwds.pop("discrete", None)
        given = {key: bare(one) for key, one in kwds.items()}
        shapes, loc, scale, size = self._parse_args_rvs(*args, **kwds)
        extra = {} if state is None else {"random_state": state}
        if discrete is not None:
            extra["discrete"] = discrete
        kind = scipy_laws().get(self.name)
        plain = all(np.ndim(shape) == 0 for shape in shapes)
        law = kind.of_scipy(*(float(bare(shape)) for shape in shapes)) if kind is not None and plain else None
        what = f"scipy.stats.{self.name}.rvs"
        if law is None:
            return other(what, lambda: original(self, *[bare(one) for one in args], **given, **extra))
        whole, first = law.on_whole_numbers, law.scipy_origin

        def unit(shape: tuple[int, ...]) -> Any:
            values = np.asarray(original(self, *[bare(one) for one in shapes], size=shape, **extra))
            return values.astype(np.int64) - first if whole else values

        wide = None if size == () or size is None else size
        where = np.add(bare(loc), first) if whole else loc if np.any(bare(loc)) else None
        return additive(what, law, unit, where, None if whole else scale, wide)

    return [(distributions.rv_generic, "rvs", rvs)]


def samplers(rng: Any, seed: int) -> list[Replaced]:
    """What is replaced: generators that are given no seed of the function's own draw from ``rng`` and ``seed``."""
    return [*_numpy(rng), *_arrays(), *_standard(seed), *_scipy()]


@contextmanager
def replacing(replaced: Sequence[Replaced]) -> Generator[None]:
    """Replace attributes, and put them back."""
    former = [(owner, name, vars(owner).get(name, _MISSING)) for owner, name, _ in replaced]
    try:
        for owner, name, value in replaced:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(former):
            with contextlib.suppress(AttributeError):
                if value is _MISSING:
                    delattr(owner, name)
                else:
                    setattr(owner, name, value)


_MISSING: Final = object()
