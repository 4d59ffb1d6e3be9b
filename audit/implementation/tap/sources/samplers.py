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
    array_with_memory,
    form_of,
    has_tags,
    tagged,
    tagged_array,
    tagged_number,
    without_tags,
)
from dpverdict.audit.implementation.tap.tape import (
    THIS_ROOM,
    Choice,
    UnknownLaw,
    calling_line,
    calling_module,
    current_tape,
)
from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.exponential import Exponential
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.geometric import Geometric
from dpverdict.audit.laws.registry import numpy_laws, scipy_laws
from dpverdict.audit.laws.uniform import Uniform

Replaced = tuple[Any, str, Any]

_CAPABLE_MOST: Final = 1 << 20
_LIBRARIES_WITH_PLAIN_ARRAYS: Final = ("numpy", "scipy", "pandas", "sklearn", "torch", "opacus", "matplotlib", "joblib")


def _shape_of_draw(size: Any, *parameters: Any) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*(np.shape(without_tags(one)) for one in parameters))
    return (int(size),) if np.ndim(size) == 0 else tuple(int(n) for n in size)


def draw_additive(what: str, law: Law, unit: Callable[[tuple[int, ...]], Any], loc: Any, scale: Any, size: Any) -> Any:
    """loc + scale * unit draws."""
    tape = current_tape()
    assert tape is not None
    shape = _shape_of_draw(size, loc, scale)
    if calling_module().startswith(
        ADAPTED
    ):  # its noise comes through its own primitives: this picks or starts something
        draw = tape.draw(what, None, shape, lambda: np.asarray(unit(shape)), structural=True)
        values = without_tags(draw.values) * (1.0 if scale is None else without_tags(scale)) + (
            0.0 if loc is None else without_tags(loc)
        )
        return values if shape else float(values)
    draw = tape.draw(what, law, shape, lambda: np.asarray(unit(shape)))
    return tagged(draw, loc=loc, scale=scale)


ADAPTED: Final = ("diffprivlib", "sklearn", "opacus", "joblib", "multiprocessing", "tempfile", "uuid")
"""Modules whose own draws, outside of the primitives that are tapped, are not noise."""


def draw_of_unknown_law(
    what: str, make: Callable[[], Any], *, structural: bool = False, fixed_arguments: tuple[object, ...] = ()
) -> Any:
    """A draw of which only the value is known."""
    tape = current_tape()
    assert tape is not None
    structural = structural or calling_module().startswith(ADAPTED)
    shape: tuple[int, ...] = ()
    law = None if structural else UnknownLaw(what)
    found = tape.draw(what, law, shape, make, structural=structural, fixed_arguments=fixed_arguments)
    values = found.values
    return values.copy() if isinstance(values, np.ndarray) else list(values) if isinstance(values, list) else values


def _draw_choice(what: str, a: Any, size: Any, replace: Any, p: Any, make: Callable[[Any], Any]) -> Any:
    """``choice``: with one outcome and probabilities it is an outcome of known law, otherwise only a draw."""
    tape = current_tape()
    assert tape is not None
    items = np.arange(int(a)) if np.ndim(a) == 0 else np.asarray(without_tags(a))
    shape = _shape_of_draw(size)
    count = int(np.prod(shape, dtype=np.int64))
    if p is None:
        picked = draw_of_unknown_law(
            what, lambda: make(len(items)), structural=True, fixed_arguments=(len(items), shape)
        )
        return items[picked] if not isinstance(a, list) or size is not None else a[int(picked)]
    weights = np.broadcast_to(np.asarray(without_tags(p), dtype=np.float64), (max(1, count), len(items)))
    known = None if replace or count == 1 else "a choice without replacement"
    with tape.silence():
        first = np.asarray(make(len(items))) if not tape.replaying else np.zeros(shape, dtype=np.int64)
    picked = tape.choice(Choice(what, weights, first, calling_line(), open=known))
    return items[picked]


# numpy ----------------------------------------------------------------------------------------------------------------

_ORDERING_METHODS: Final = (
    "integers",
    "random_integers",
    "randint",
    "permutation",
    "permuted",
    "bytes",
    "tomaxint",
    "rand_int",
)
_METHODS_OF_UNKNOWN_LAW: Final = (
    "beta",
    "binomial",
    "chisquare",
    "dirichlet",
    "f",
    "gamma",
    "standard_gamma",
    "hypergeometric",
    "lognormal",
    "logistic",
    "logseries",
    "multinomial",
    "multivariate_hypergeometric",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "pareto",
    "poisson",
    "power",
    "rayleigh",
    "standard_cauchy",
    "standard_t",
    "triangular",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
)


def _tapped_methods(base: type, own: Callable[[str], Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Tapped methods of a generator; ``own`` gives the original function of a name, called with the generator."""

    def located(name: str, law: Law) -> Callable[..., Any]:
        """A method that draws loc + scale times a variable of the law."""

        def method(self: Any, loc: Any = None, scale: Any = 1.0, size: Any = None) -> Any:
            if current_tape() is None:
                return own(name)(self, 0.0 if loc is None else loc, scale, size)
            return draw_additive(name, law, lambda shape: own(name)(self, size=shape), loc, scale, size)

        return method

    def standard_normal(self: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        if current_tape() is None or args or kwargs.get("out") is not None:
            return own("standard_normal")(self, size, *args, **kwargs)
        unit = lambda shape: own("standard_normal")(self, size=shape)  # noqa: E731
        return draw_additive("standard_normal", Gaussian(), unit, None, None, size)

    def exponential(self: Any, scale: Any = 1.0, size: Any = None) -> Any:
        if current_tape() is None:
            return own("exponential")(self, scale, size)
        unit = lambda shape: own("standard_exponential")(self, size=shape)  # noqa: E731
        return draw_additive("exponential", Exponential(), unit, None, scale, size)

    def standard_exponential(self: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        if current_tape() is None or args or kwargs.get("out") is not None:
            return own("standard_exponential")(self, size, *args, **kwargs)
        unit = lambda shape: own("standard_exponential")(self, size=shape)  # noqa: E731
        return draw_additive("standard_exponential", Exponential(), unit, None, None, size)

    def uniform(self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if current_tape() is None:
            return own("uniform")(self, low, high, size)
        width = np.subtract(without_tags(high), without_tags(low))
        where = low if np.any(without_tags(low)) else None  # from 0 on, it may be a coin
        return draw_additive("uniform", Uniform(), lambda shape: own("uniform")(self, size=shape), where, width, size)

    def uniform_of(name: str) -> Callable[..., Any]:
        def method(self: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
            if current_tape() is None or args or kwargs.get("out") is not None:
                return own(name)(self, size, *args, **kwargs)
            return draw_additive(name, Uniform(), lambda shape: own(name)(self, size=shape), None, None, size)

        return method

    def geometric(self: Any, p: Any, size: Any = None) -> Any:
        if current_tape() is None:
            return own("geometric")(self, p, size)
        if np.ndim(without_tags(p)):
            return draw_of_unknown_law("geometric", lambda: own("geometric")(self, without_tags(p), size))
        law = Geometric.of_scipy(float(without_tags(p)))
        if law is None:
            return draw_of_unknown_law("geometric", lambda: own("geometric")(self, without_tags(p), size))
        unit = lambda shape: np.asarray(own("geometric")(self, without_tags(p), size=shape), dtype=np.int64) - 1  # noqa: E731
        return draw_additive("geometric", law, unit, 1, None, size)

    def multivariate_normal(self: Any, mean: Any, cov: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        """mean + A z with standard normal draws z and A A^T = cov: the law of the original, draw by draw."""
        covariance = np.asarray(without_tags(cov), dtype=np.float64)
        plain = _plain_method(own, "multivariate_normal", structural=False)
        square = covariance.ndim == 2 and np.array_equal(covariance, covariance.T)
        if current_tape() is None or args or kwargs or not square:
            return plain(self, mean, cov, size, *args, **kwargs)
        values, vectors = np.linalg.eigh(covariance)
        if values.min() < -1e-9 * values.max():
            return plain(self, mean, cov, size)  # no covariance: it warns, and draws something
        draws = standard_normal(self, (*_shape_of_draw(size), len(covariance)))
        return draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T + mean

    def choice(self: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None, *args: Any, **kw: Any) -> Any:
        if current_tape() is None or np.ndim(a) > 1:
            return own("choice")(self, a, size, replace, p, *args, **kw)
        given = {"p": without_tags(p)} if p is not None else {}
        return _draw_choice(
            "choice", a, size, replace, p, lambda n: own("choice")(self, n, size, replace, *args, **given)
        )

    def shuffle(self: Any, x: Any, axis: int = 0) -> None:
        if current_tape() is None or axis != 0:
            own("shuffle")(self, x, *(() if axis == 0 else (axis,)))
            return
        order = draw_of_unknown_law(
            "shuffle", lambda: own("permutation")(self, len(x)), structural=True, fixed_arguments=(len(x),)
        )
        x[:] = [x[int(i)] for i in order] if isinstance(x, list) else x[order]

    found: dict[str, Callable[..., Any]] = {
        "standard_normal": standard_normal,
        "exponential": exponential,
        "standard_exponential": standard_exponential,
        "uniform": uniform,
        "geometric": geometric,
        "multivariate_normal": multivariate_normal,
        "choice": choice,
        "shuffle": shuffle,
    }
    found |= {name: located(name, law()) for name, law in numpy_laws().items()}
    for name in ("random", "random_sample"):
        found[name] = uniform_of(name)
    if hasattr(base, "rand"):
        found["rand"] = lambda self, *shape: found["random_sample"](self, shape or None)
        found["randn"] = lambda self, *shape: found["standard_normal"](self, shape or None)
    found |= {name: _plain_method(own, name, structural=True) for name in _ORDERING_METHODS}
    found |= {name: _plain_method(own, name, structural=False) for name in _METHODS_OF_UNKNOWN_LAW if name not in found}
    return {name: method for name, method in found.items() if hasattr(base, name)}


def _plain_method(own: Callable[[str], Callable[..., Any]], name: str, *, structural: bool) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given, named = tuple(without_tags(one) for one in args), {key: without_tags(one) for key, one in kwargs.items()}
        if current_tape() is None:
            return own(name)(self, *given, **named)
        fixed_arguments = (
            () if structural and name.startswith("perm") else tuple(map(repr, (*given, *sorted(named.items()))))
        )
        made = draw_of_unknown_law(
            name, lambda: own(name)(self, *given, **named), structural=structural, fixed_arguments=fixed_arguments[:6]
        )
        return made

    return method


def _tapped_class(base: type) -> type:
    return type(base.__name__, (base,), _tapped_methods(base, lambda name: getattr(base, name)))


TappedGenerator: Final = _tapped_class(np.random.Generator)
TappedRandomState: Final = _tapped_class(np.random.RandomState)


def generator(seed: Sequence[int] | int) -> Any:
    """A generator that is tapped while a run is looked at."""
    return TappedGenerator(np.random.PCG64(list(seed) if isinstance(seed, Sequence) else seed))


def _stands_in_for(base: type, tapped: type) -> Any:
    """The tapped class under the name of the original: whatever is of one is of the other."""

    class Meta(type):
        def __instancecheck__(cls, one: Any) -> bool:
            return isinstance(one, base)

        def __subclasscheck__(cls, one: Any) -> bool:
            return issubclass(one, base)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return tapped(*args, **kwargs)

    return Meta(base.__name__, (), {"__doc__": base.__doc__, "__module__": base.__module__})


def _numpy_samplers(rng: Any) -> list[Replaced]:
    module = np.random
    state = TappedRandomState(np.random.MT19937(rng.bit_generator.seed_seq.spawn(1)[0]))

    def default_rng(seed: Any = None) -> Any:
        _note_use_as_seed(seed)
        if isinstance(seed, np.random.BitGenerator):
            return TappedGenerator(seed)
        if isinstance(seed, TappedGenerator):
            return seed
        if isinstance(seed, _GENERATOR):
            return TappedGenerator(seed.bit_generator)
        return TappedGenerator(_PCG64(seed))

    found: list[Replaced] = [
        (module, "default_rng", default_rng),
        (module, "Generator", _stands_in_for(np.random.Generator, TappedGenerator)),
        (module, "RandomState", _stands_in_for(np.random.RandomState, TappedRandomState)),
        (module.mtrand, "_rand", state),
    ]
    for name in ("sample", "ranf"):
        found.append((module, name, state.random_sample))
    for name in ("seed", "get_state", "set_state"):
        found.append((module, name, getattr(state, name)))
    for name in _tapped_methods(np.random.RandomState, lambda name: lambda *_: None):
        if hasattr(module, name) and callable(getattr(module, name)):
            found.append((module, name, getattr(state, name)))
    return found


def _note_use_as_seed(seed: Any) -> None:
    """Random bits that start a generator are no noise: the draws of the generator are seen."""
    tape = current_tape()
    for draw in () if tape is None or not isinstance(seed, int) else tape.draws():
        if isinstance(draw.law, UnknownLaw) and isinstance(draw.values, int) and draw.values == seed:
            draw.seeds = True


_GENERATOR: Final = np.random.Generator
_PCG64: Final = np.random.PCG64


# arrays that remember what is written to them -------------------------------------------------------------------------


def _is_called_by_library() -> bool:
    """Whether a function of NumPy is called by a library, or by the tap itself, two calls up."""
    name = str(sys._getframe(2).f_globals.get("__name__", ""))  # pyright: ignore[reportPrivateUsage]
    return name.partition(".")[0] in _LIBRARIES_WITH_PLAIN_ARRAYS or name.startswith(THIS_ROOM)


def _numpy_arrays() -> list[Replaced]:
    def making(original: Any) -> Any:
        def made(*args: Any, **kwargs: Any) -> Any:
            args = tuple(without_tags(one) for one in args)
            found = original(*args, **kwargs)
            if current_tape() is None or _is_called_by_library() or type(found) is not np.ndarray:
                return found
            if found.dtype.kind not in "fi" or not 0 < found.size <= _CAPABLE_MOST or not found.flags.c_contiguous:
                return found
            return array_with_memory(found)

        return made

    def converting(original: Any) -> Any:
        def made(a: Any, *args: Any, **kwargs: Any) -> Any:
            if current_tape() is None or _is_called_by_library():
                return original(a, *args, **kwargs)
            kind = kwargs.get("dtype", args[0] if args else None)
            if kind is None or np.dtype(kind).kind == "f":
                if isinstance(a, list | tuple) and has_tags(a):
                    return tagged_array(a)
                if isinstance(a, TaggedArray):
                    return a.copy() if original is np_array and kwargs.get("copy", True) else a
                if hasattr(a, "tap_linear"):
                    one = form_of(a)
                    return tagged_number(one.gather(np.zeros(1, dtype=np.int64))).reshape(())
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
        if current_tape() is None:
            return base.gauss(self, mu, sigma)  # type: ignore[attr-defined]
        unit = lambda shape: base.normalvariate(self, 0.0, 1.0)  # type: ignore[attr-defined]  # noqa: E731
        return draw_additive(f"{name}.gauss", Gaussian(), unit, mu, sigma, None)

    def uniform(self: Any, a: Any, b: Any) -> Any:
        if current_tape() is None:
            return base.uniform(self, a, b)  # type: ignore[attr-defined]
        return draw_additive(f"{name}.uniform", Uniform(), lambda shape: base.random(self), a or None, b - a, None)  # type: ignore[attr-defined]

    def expovariate(self: Any, lambd: Any = 1.0) -> Any:
        if current_tape() is None:
            return base.expovariate(self, lambd)  # type: ignore[attr-defined]
        unit = lambda shape: base.expovariate(self, 1.0)  # type: ignore[attr-defined]  # noqa: E731
        return draw_additive(f"{name}.expovariate", Exponential(), unit, None, 1.0 / without_tags(lambd), None)

    def draw_one(self: Any) -> Any:
        if current_tape() is None:
            return base.random(self)  # type: ignore[attr-defined]
        return draw_additive(f"{name}.random", Uniform(), lambda shape: base.random(self), None, None, None)  # type: ignore[attr-defined]

    def choices(self: Any, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
        tape = current_tape()
        if tape is None or (weights is None and cum_weights is None):
            if tape is None:
                return base.choices(self, population, weights, cum_weights=cum_weights, k=k)  # type: ignore[attr-defined]
            make = lambda: base.choices(self, population, k=k)  # type: ignore[attr-defined]  # noqa: E731
            return draw_of_unknown_law("choices", make, structural=True, fixed_arguments=(k,))
        given = np.asarray(
            without_tags(weights) if weights is not None else np.diff([0, *cum_weights]), dtype=np.float64
        )
        total = given / given.sum()
        with tape.silence():
            places = base.choices(self, range(len(population)), list(total), k=k)  # type: ignore[attr-defined]
        made = Choice("choices", np.broadcast_to(total, (k, len(total))), np.asarray(places), calling_line())
        return [population[int(i)] for i in tape.choice(made)]

    found: dict[str, Any] = {
        "gauss": gauss,
        "normalvariate": gauss,
        "uniform": uniform,
        "expovariate": expovariate,
        "random": draw_one,
        "choices": choices,
    }
    for plain_name in ("randrange", "randint", "getrandbits", "choice", "sample", "randbytes"):
        found[plain_name] = _plain_method(lambda n: getattr(base, n), plain_name, structural=True)
    for plain_name in (
        "betavariate",
        "gammavariate",
        "lognormvariate",
        "triangular",
        "vonmisesvariate",
        "paretovariate",
        "weibullvariate",
        "binomialvariate",
    ):
        if hasattr(base, plain_name):
            found[plain_name] = _plain_method(lambda n: getattr(base, n), plain_name, structural=False)

    def shuffle(self: Any, x: Any) -> None:
        if current_tape() is None:
            base.shuffle(self, x)  # type: ignore[attr-defined]
            return
        make = lambda: base.sample(self, range(len(x)), len(x))  # type: ignore[attr-defined]  # noqa: E731
        order = draw_of_unknown_law("shuffle", make, structural=True, fixed_arguments=(len(x),))
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


def _standard_library(seed: int) -> list[Replaced]:
    own = plain_generator(seed)
    found: list[Replaced] = [
        (random, "Random", _stands_in_for(random.Random, _PLAIN)),
        (random, "SystemRandom", _stands_in_for(random.SystemRandom, _SYSTEM)),
        (secrets, "SystemRandom", _stands_in_for(random.SystemRandom, _SYSTEM)),
    ]
    for name in ("seed", "getstate", "setstate", *_random_methods(random.Random, "random")):
        found.append((random, name, getattr(own, name)))

    def bits(original: Any, name: str) -> Any:
        def drawn_bits(*args: Any) -> Any:
            tape = current_tape()
            if tape is None:
                return original(*args)
            return draw_of_unknown_law(name, lambda: original(*args), fixed_arguments=tuple(map(repr, args)))

        return drawn_bits

    for name in ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice"):
        found.append((secrets, name, bits(getattr(secrets, name), f"secrets.{name}")))
    found.append((os, "urandom", bits(os.urandom, "os.urandom")))
    return found


# scipy.stats ----------------------------------------------------------------------------------------------------------


def _scipy_samplers() -> list[Replaced]:
    distributions = scipy.stats._distn_infrastructure
    original = distributions.rv_generic.rvs

    def rvs(self: Any, *args: Any, **kwds: Any) -> Any:
        tape = current_tape()
        if tape is None:
            return original(self, *args, **kwds)
        state, discrete = kwds.pop("random_state", None), kwds.pop("discrete", None)
        given = {key: without_tags(one) for key, one in kwds.items()}
        shapes, loc, scale, size = self._parse_args_rvs(*args, **kwds)
        extra = {} if state is None else {"random_state": state}
        if discrete is not None:
            extra["discrete"] = discrete
        kind = scipy_laws().get(self.name)
        plain = all(np.ndim(shape) == 0 for shape in shapes)
        law = kind.of_scipy(*(float(without_tags(shape)) for shape in shapes)) if kind is not None and plain else None
        what = f"scipy.stats.{self.name}.rvs"
        if law is None:
            return draw_of_unknown_law(
                what, lambda: original(self, *[without_tags(one) for one in args], **given, **extra)
            )
        whole, first = law.on_whole_numbers, law.scipy_origin

        def unit(shape: tuple[int, ...]) -> Any:
            values = np.asarray(original(self, *[without_tags(one) for one in shapes], size=shape, **extra))
            return values.astype(np.int64) - first if whole else values

        wide = None if size == () or size is None else size
        where = np.add(without_tags(loc), first) if whole else loc if np.any(without_tags(loc)) else None
        return draw_additive(what, law, unit, where, None if whole else scale, wide)

    return [(distributions.rv_generic, "rvs", rvs)]


def samplers(rng: Any, seed: int) -> list[Replaced]:
    """What is replaced: generators that are given no seed of the function's own draw from ``rng`` and ``seed``."""
    return [*_numpy_samplers(rng), *_numpy_arrays(), *_standard_library(seed), *_scipy_samplers()]


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
