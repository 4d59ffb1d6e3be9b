"""Random numbers in a followed run: generators, functions of np.random, random and scipy.stats, and what replaces them.

A draw is noise of a known law, a choice by scores, or not covered. Generators that were made outside of the run are
not covered, as nobody sees how they were started; neither is one that is started from a number.
"""

# The parts of one trace make and read each other.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import builtins
import collections
import contextlib
import json.encoder
import math
import random
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Final, NoReturn, final

import numpy as np

from dpverdict.audit.tracing.handles.arrays import (
    FollowedArray,
    Shape,
    counted,
    fact_of,
    is_noise,
    is_rows,
    is_total,
    known_length,
    settled,
)
from dpverdict.audit.tracing.handles.building import Building, making
from dpverdict.audit.tracing.handles.coins import coins_for
from dpverdict.audit.tracing.handles.counters import new_counter
from dpverdict.audit.tracing.handles.functions import array_of
from dpverdict.audit.tracing.handles.released import Followed, Released, made, plain
from dpverdict.audit.tracing.handles.tape import RunTape, current, refuse_own_classes
from dpverdict.audit.tracing.rules.bounds import directed
from dpverdict.audit.tracing.rules.facts import Total
from dpverdict.audit.tracing.source.generators import ReadyMade

_FRESH: Final = np.random.default_rng()
_MOST_DIMENSIONS: Final = 32
"""Of a covariance that is looked at in exact arithmetic."""


def _tape() -> RunTape:
    tape = current()
    assert tape is not None
    return tape


def _refuse(what: str, remedy: str = "") -> NoReturn:
    _tape().refuse(what, remedy)


def _public(given: Any, what: str) -> Any:
    value = settled(given)
    refuse_own_classes(_tape(), value)
    if isinstance(value, Followed) or hasattr(value, "_dpv_array"):
        _refuse(f"{what} of noise that depends on data", "give a public number")
    if isinstance(value, Released):
        _refuse(f"{what} of noise that depends on a noisy value", "give a public number")
    if isinstance(value, tuple | list):
        for one in value:
            _public(one, what)
    return value


def _noise(
    law: str, unit: Callable[[Any], Any], loc: Any, scale: Any, size: Any, parameter: float | None = None
) -> Any:
    tape = _tape()
    refuse_own_classes(tape, loc)
    loc, scale, size = settled(loc), _public(scale, "a scale"), _public(size, "a size")
    array = np.asarray(scale, dtype=np.float64)
    if not np.isfinite(array).all() or (array < 0).any():
        _refuse(f"a scale of noise that is no number >= 0 ({scale})")
    if (array == 0).any():
        _refuse("noise of scale 0")
    inner = loc._dpv_value if isinstance(loc, FollowedArray | Released) else loc
    if hasattr(loc, "_dpv_array"):
        inner = loc._dpv_array()._dpv_value
    if size is None:
        shape = np.broadcast_shapes(array.shape, np.shape(inner))
    else:
        shape = (int(size),) if np.ndim(size) == 0 else tuple(int(one) for one in size)
    values = np.asarray(unit(shape)) * (1 if parameter is not None else array)
    noise = FollowedArray(tape, None, values, noise=tape.draw(law, parameter, array, shape))
    if isinstance(loc, Followed | Released) or hasattr(loc, "_dpv_array"):
        if is_rows(array_of(loc)):
            _refuse("noise added to each record", "sum first, and add noise to the sum")
        return loc + noise
    return noise if not np.any(np.asarray(loc)) else np.add(noise, loc)


def _no_more(given: dict[str, Any], what: str) -> None:
    for key, value in given.items():
        if value is not None:
            _refuse(f"{what} with {key}=", "leave it out")


def laplace(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    """Laplace noise."""
    return _noise("laplace", lambda shape: _FRESH.laplace(size=shape), loc, scale, size)


def normal(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    """Gaussian noise."""
    return _noise("gaussian", lambda shape: _FRESH.standard_normal(shape), loc, scale, size)


def standard_normal(size: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Gaussian noise of scale 1."""
    _no_more({"out": out}, "standard_normal")
    if dtype is not None and np.dtype(dtype) != np.float64:
        _refuse("noise of single precision", "leave dtype out")
    return normal(0.0, 1.0, size)


def multivariate_normal(mean: Any, cov: Any, size: Any = None, check_valid: Any = "warn", tol: Any = 1e-8, *,
                        method: Any = "svd") -> Any:  # fmt: skip
    """Gaussian noise of a public covariance: what is certified is a part of it, and the rest can only help.

    Of cov = L L^T + R with R positive semidefinite, the noise is L z and independent noise of covariance R, which is
    post-processing. That R is so is shown in exact arithmetic.
    """
    mean = settled(mean)
    listed = array_of(mean)
    mean = mean if listed is None else listed
    matrix = np.asarray(_public(cov, "a covariance"), dtype=np.float64)
    dims = matrix.shape[0] if matrix.ndim == 2 else 0
    if matrix.shape != (dims, dims) or not 0 < dims <= _MOST_DIMENSIONS or not np.isfinite(matrix).all():
        _refuse(f"multivariate_normal with a covariance that is no square matrix of at most {_MOST_DIMENSIONS} rows")
    factor = factor_of(matrix)
    if factor is None:
        _refuse("multivariate_normal with a covariance that is not symmetric, or singular",
                "give a symmetric matrix with an inverse, or draw each coordinate: rng.normal(0, s, k)")  # fmt: skip
    if np.shape(getattr(mean, "_dpv_value", mean)) != (dims,):
        _refuse("multivariate_normal with a mean of another length than its covariance")
    size = _public(size, "a size")
    if size is not None:
        _refuse("multivariate_normal with a size", "draw one vector for each statistic")
    if is_rows(mean):
        _refuse("noise added to each record", "sum first, and add noise to the sum")
    noise: Any = np.matmul(factor, normal(0.0, 1.0, dims))
    return noise if not isinstance(mean, Followed | Released) and not np.any(np.asarray(mean)) else mean + noise


def gumbel(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
    """Gumbel noise."""
    return _noise("gumbel", lambda shape: _FRESH.gumbel(size=shape), loc, scale, size)


def geometric(p: Any, size: Any = None) -> Any:
    """Geometric draws, of which the difference of two is noise."""
    if np.ndim(_public(p, "a parameter")) or not 0 < float(p) < 1:
        _refuse("geometric draws with several parameters, or one that is not in (0, 1)")
    return _noise("geometric", lambda shape: _FRESH.geometric(float(p), shape), 0, 1.0, size, float(p))


def exponential(scale: Any = 1.0, size: Any = None) -> Any:
    """Exponential draws: the difference of two is Laplace noise, and the largest of scores with them is a choice."""
    return _noise("exponential", lambda shape: _FRESH.exponential(size=shape), 0.0, scale, size)


def standard_exponential(size: Any = None, dtype: Any = None, method: Any = "zig", out: Any = None) -> Any:
    """Exponential draws of scale 1."""
    _no_more({"out": out}, "standard_exponential")
    if dtype is not None and np.dtype(dtype) != np.float64:
        _refuse("noise of single precision", "leave dtype out")
    return exponential(1.0, size)


def expovariate(lambd: Any = 1.0) -> Any:
    """Exponential draws of a rate; the scale is rounded down, as less noise protects less."""
    rate = _public(lambd, "a rate")
    if np.ndim(rate) or not 0 < float(rate) < math.inf:
        _refuse("exponential draws of a rate that is no number > 0")
    return exponential(float(directed(np.true_divide, np.asarray(1.0), np.asarray(float(rate)), up=False)))


def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None, *args: Any, **given: Any) -> Any:
    """One outcome, with probabilities in proportion to exp(score)."""
    tape, p = _tape(), settled(p)
    _no_more(given, "choice")
    if isinstance(a, Followed) or hasattr(a, "_dpv_array"):
        _refuse("a choice among records", "a sample of records is not covered")
    if p is None or isinstance(p, Released) or not isinstance(p, Followed):
        _refuse("a random choice that is no noise", "choose by rng.choice(k, p=weights / weights.sum()) of scores")
    fact = fact_of(p) if isinstance(p, FollowedArray) else None
    if not isinstance(fact, Total) or not (fact.weights and fact.normalised) or len(fact.shape) != 1:
        _refuse("a choice with probabilities made of data in another way than exp(score) over their sum",
                "write w = np.exp(eps * score / (2 * sensitivity)); p = w / w.sum()")  # fmt: skip
    if (size is not None and size != 1) or args:
        _refuse("several choices at once", "choose one, or report noisy counts")
    outcomes = np.arange(int(a)) if np.ndim(_public(a, "outcomes")) == 0 else np.asarray(a)
    if len(outcomes) != fact.shape[0]:
        _refuse("a choice among another number of outcomes than there are probabilities")
    assert isinstance(p, FollowedArray)
    assert p._dpv_number is not None
    tape.choose(p._dpv_number, p._dpv_value)
    picked = outcomes[int(_FRESH.integers(len(outcomes)))]
    options = len(outcomes) if size is None and np.ndim(a) == 0 else None
    return Released(tape, picked if size is None else np.array([picked]), options=options)


def uniform_of_records(size: Any = None, *args: Any, **given: Any) -> Any:
    """Uniform random numbers, one for each record of which the number is no public one: for a Poisson sample."""
    found = None if args or any(one is not None for one in given.values()) else coins_for(settled(size))
    if found is None:
        _refuse("uniform random numbers", "noise by laplace, normal, gumbel, exponential, geometric and "
                "choice(p=...) is covered, and a Poisson sample of records under add-or-remove-one, "
                "x[rng.random(len(x)) < 0.1]")  # fmt: skip
    return found


def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    """The same, by another name."""
    between_0_and_1 = type(low) in (int, float) and type(high) in (int, float) and (low, high) == (0, 1)
    return uniform_of_records(size) if between_0_and_1 else uniform_of_records()


def factor_of(matrix: Any) -> Any:
    """L with matrix - L L^T positive semidefinite, exactly; close to it. None where the matrix is not definite."""
    if (matrix != matrix.T).any():
        return None
    if not np.any(matrix - np.diag(np.diag(matrix))):
        diagonal = np.diag(matrix)
        if not (diagonal > 0).all():
            return None
        roots = [math.sqrt(one) for one in diagonal.tolist()]
        return np.diag([root if Fraction(root) ** 2 <= Fraction(one) else math.nextafter(root, 0)
                        for root, one in zip(roots, diagonal.tolist(), strict=True)])  # fmt: skip
    for shrunk in (1e-13, 1e-11, 1e-9):
        try:
            factor = np.linalg.cholesky(matrix * (1 - shrunk))
        except np.linalg.LinAlgError:
            return None
        if _is_semidefinite(matrix, factor):
            return factor
    return None


def _is_semidefinite(matrix: Any, factor: Any) -> bool:
    """Whether matrix - L L^T is positive definite, by the pivots of exact elimination."""
    size = len(matrix)
    lower = [[Fraction(one) for one in row] for row in factor.tolist()]
    rest = [[Fraction(matrix[i, j].item()) - sum((a * b for a, b in zip(lower[i], lower[j], strict=True)), Fraction(0))
             for j in range(size)] for i in range(size)]  # fmt: skip
    for k in range(size):
        if rest[k][k] <= 0:
            return False
        for i in range(k + 1, size):
            times = rest[i][k] / rest[k][k]
            for j in range(k, size):
                rest[i][j] -= times * rest[k][j]
    return True


def _not_covered(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **given: Any) -> NoReturn:
        _refuse(
            f"random numbers by {name}",
            "laplace, normal, multivariate_normal, gumbel, exponential, geometric and choice(p=...) are covered",
        )

    return refused


_DRAWS: Final[dict[str, Callable[..., Any]]] = {
    "laplace": laplace,
    "normal": normal,
    "standard_normal": standard_normal,
    "multivariate_normal": multivariate_normal,
    "gumbel": gumbel,
    "exponential": exponential,
    "standard_exponential": standard_exponential,
    "geometric": geometric,
    "choice": choice,
    "randn": lambda *shape: normal(size=shape or None),
    "random": uniform_of_records,
    "random_sample": uniform_of_records,
    "rand": lambda *shape: uniform_of_records(shape),
    "uniform": uniform,
}


_PLAIN_DRAWS: Final[dict[str, Callable[..., Any]]] = {
    "gauss": lambda mu=0.0, sigma=1.0: normal(mu, sigma),
    "normalvariate": lambda mu=0.0, sigma=1.0: normal(mu, sigma),
    "expovariate": expovariate,
}
"""Of Python's own generators."""
_PLAIN_KINDS: Final = (random.Random, random.SystemRandom)


class _Uncopied:
    """What draws numbers: a copy would draw the same ones again."""

    def __deepcopy__(self, memo: Any) -> NoReturn:
        _refuse("a copy of a generator, which draws the same numbers again", "use one generator")

    __copy__ = __deepcopy__

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        _refuse("a copy of a generator, which draws the same numbers again", "use one generator")


@final
class FollowedGenerator(_Uncopied):
    """A generator that is followed; it looks like one of NumPy, or of Python."""

    def __init__(self, kind: type = np.random.Generator) -> None:
        self._dpv_kind = kind

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._dpv_kind

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        draws = _PLAIN_DRAWS if self._dpv_kind in _PLAIN_KINDS else _DRAWS
        if name in draws:
            return draws[name]
        if not hasattr(self._dpv_kind, name):
            raise AttributeError(f"{self._dpv_kind.__name__!r} object has no attribute {name!r}")
        if not callable(getattr(self._dpv_kind, name)):
            _refuse(f".{name} of a generator, by which its state may be set", "draw numbers from it alone")
        return _not_covered(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_dpv_kind":
            _refuse(f"an attribute {name} of a generator that is set", "draw numbers from it alone")
        object.__setattr__(self, name, value)


def _started(seed: Any = None) -> Any:
    if isinstance(seed, FollowedGenerator):
        return seed
    if seed is not None:
        _refuse("a generator that is started from a number, so that its noise can be computed",
                "write np.random.default_rng(), or take the generator as a second argument")  # fmt: skip
    return FollowedGenerator()


def _state(seed: Any = None) -> Any:
    _started(seed)
    return FollowedGenerator(np.random.RandomState)


def _of_bits(bits: Any = None, *args: Any, **given: Any) -> Any:
    """np.random.Generator(np.random.PCG64())."""
    if args or given or not isinstance(bits, _Bits):
        _refuse("np.random.Generator of something else than a new bit generator", "write np.random.default_rng()")
    return FollowedGenerator()


@final
class _Bits(_Uncopied):
    """What a generator is made of; it was started by the operating system."""


def _new_bits(seed: Any = None) -> Any:
    _started(seed)
    return _Bits()


def _python_generator(seed: Any = None) -> Any:
    _started(seed)
    return FollowedGenerator(_PLAIN_KINDS[0])


# scipy.stats ----------------------------------------------------------------------------------------------------------


def _rvs(self: Any, *args: Any, **given: Any) -> Any:
    state = given.pop("random_state", None)
    given.pop("discrete", None)
    if getattr(self, "_random_state", None) is not np.random.mtrand._rand:
        _refuse("a distribution of scipy.stats with a random_state of its own", "leave random_state as it is")
    if state is not None and not isinstance(state, FollowedGenerator):
        _started(state)
    name = self.name
    if name in ("laplace", "norm", "gumbel_r"):
        loc, scale, size = _parsed(args, given)
        return {"laplace": laplace, "norm": normal, "gumbel_r": gumbel}[name](loc, scale, size)
    if name == "expon":
        loc, scale, size = _parsed(args, given)
        if np.any(np.asarray(loc)):
            _refuse("exponential draws that start elsewhere than at 0", "leave loc out")
        return exponential(scale, size)
    if name == "dlaplace":
        rate, *rest = args if args else (given.pop("a"),)
        loc, _, size = _parsed((*rest[:1], 1, *rest[1:]) if rest else (), {**given, "scale": 1})
        if np.ndim(_public(rate, "a parameter")) or not float(rate) > 0:
            _refuse("discrete Laplace noise with several parameters")
        return _noise("two-sided geometric", lambda shape: _plain_dlaplace(float(rate), shape), loc, 1.0, size,
                      float(rate))  # fmt: skip
    _refuse(f"random numbers by scipy.stats.{name}", "laplace, norm, gumbel_r, expon and dlaplace are covered")


def _parsed(args: Sequence[Any], given: dict[str, Any]) -> tuple[Any, Any, Any]:
    names = ("loc", "scale", "size")
    known = dict(zip(names, args, strict=False)) | given
    if set(known) - set(names):
        _refuse(f"random numbers of scipy.stats with {', '.join(sorted(set(known) - set(names)))}")
    size = known.get("size")
    return known.get("loc", 0), known.get("scale", 1), None if size == 1 and not args[2:] and "size" not in given else (
        size
    )  # fmt: skip


def _plain_dlaplace(rate: float, shape: Any) -> Any:
    p = -math.expm1(-rate)
    return _FRESH.geometric(p, shape) - _FRESH.geometric(p, shape)


# other libraries ------------------------------------------------------------------------------------------------------


def softmax(x: Any, axis: Any = None) -> Any:
    """The weights of a choice by scores, as scipy.special has it."""
    if axis not in (None, 0, -1) or np.ndim(x) != 1:
        _refuse("softmax of several vectors of scores", "choose by one")
    weights = np.exp(x - np.max(x))
    return weights / np.sum(weights)


def _of_libraries() -> Iterator[tuple[Any, str, Any]]:
    """Functions of libraries that are loaded, and that are given data."""
    special: Any = sys.modules.get("scipy.special")
    if special is not None:
        yield special, "softmax", _for_data(special.softmax, softmax)
    mechanisms: Any = sys.modules.get("diffprivlib.mechanisms")
    if mechanisms is not None:
        for name in dir(mechanisms):
            kind = getattr(mechanisms, name)
            if isinstance(kind, type) and "randomise" in vars(kind):
                refused = _library(f"{name}.randomise of diffprivlib")
                yield kind, "randomise", _for_data(kind.randomise, refused)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    opendp: Any = sys.modules.get("opendp.mod")
    if opendp is not None:
        yield (
            opendp.Measurement,
            "__call__",
            _for_data(opendp.Measurement.__call__, _library("a measurement of OpenDP")),
        )


def _library(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **given: Any) -> NoReturn:
        _refuse(f"{name} applied to data", "dpverdict audits it as it is, without a schema; "
                "or write statistic + rng.laplace(scale=sensitivity / epsilon)")  # fmt: skip

    return refused


def _for_data(original: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    """A function, and another one for data that are followed."""

    def chosen(*args: Any, **given: Any) -> Any:
        return (own if current() is not None and any(map(is_followed, (*args, *given.values()))) else original)(
            *args, **given)  # fmt: skip

    return chosen


# replacing ------------------------------------------------------------------------------------------------------------


def _only_while_followed(own: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(*args: Any, **given: Any) -> Any:
        return original(*args, **given) if current() is None else own(*args, **given)

    return chosen


def _converting(original: Callable[..., Any]) -> Callable[..., Any]:
    """np.array and np.asarray of what is followed."""

    def convert(a: Any, dtype: Any = None, **given: Any) -> Any:
        tape = current()
        if tape is not None and sys._getframe(1).f_code.co_filename in tape.files:  # pyright: ignore[reportPrivateUsage]
            if type(a) is Building and (original is not _ARRAY or given.get("copy", True) is not True):
                a.may_be_shown()
            found = array_of(settled(a), dtype)
            if found is not None:
                copies = original is _ARRAY and given.get("copy", True) and isinstance(found, FollowedArray)
                return found.copy() if copies else found
        a = settled(a) if tape is not None else a
        return original(a, dtype, **given) if dtype is not None else original(a, **given)

    return convert


def _of_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that may be given a list of what is followed."""

    def called(a: Any, *args: Any, **given: Any) -> Any:
        if current() is not None and type(a) in (list, tuple):
            found = array_of(settled(a))
            a = a if found is None else found
        return original(a, *args, **given)

    return called


_ARRAY: Final = np.array


def _kind(kind: type, own: Callable[..., Any]) -> Any:
    """A class of generators: what is of it stays so, and a new one is made by ``own``."""

    class Meta(type):
        def __instancecheck__(cls, one: Any) -> bool:
            return isinstance(one, kind)

        def __call__(cls, *args: Any, **given: Any) -> Any:
            return kind(*args, **given) if current() is None else own(*args, **given)

    return Meta(kind.__name__, (), {"__doc__": kind.__doc__})


def replaced(
    modules: Sequence[dict[str, Any]],
    ready: Sequence[ReadyMade] = (),
    more: Sequence[tuple[Any, str, Any]] = (),
) -> list[tuple[Any, str, Any]]:
    """What is replaced while a run is followed: where, by what name, and with what.

    Args:
        modules: the names of each module of the user's.
        ready: generators that stand there, or are defaults of parameters, and of which nobody knows the state.
        more: functions of the library of the table, that are replaced too.
    """
    found: list[tuple[Any, str, Any]] = [
        (np.random, "default_rng", _only_while_followed(_started, np.random.default_rng)),
        (np.random, "Generator", _kind(np.random.Generator, _of_bits)),
        (np.random, "RandomState", _kind(np.random.RandomState, _state)),
    ]
    for name in dir(np.random.RandomState):
        own, original = _DRAWS.get(name, _not_covered(f"np.random.{name}")), getattr(np.random, name, None)
        if not name.startswith("_") and callable(original):
            found.append((np.random, name, _only_while_followed(own, original)))
    for name in dir(random.Random):
        original = getattr(random, name, None)
        if name.startswith("_") or not callable(original) or isinstance(original, type):
            continue
        own = _PLAIN_DRAWS.get(name, _not_covered(f"random.{name}"))
        found.append((random, name, _only_while_followed(own, original)))
    found += [(random, name, _kind(getattr(random, name), _python_generator)) for name in ("Random", "SystemRandom")]
    found += [(np.random, name, _kind(getattr(np.random, name), _new_bits)) for name in _BITS]
    found.append((collections.Counter, "__new__", new_counter))
    for name in ("c_make_encoder", "_make_iterencode"):
        if (encoder := getattr(json.encoder, name)) is not None:
            found.append((json.encoder, name, _asked_by_json(encoder)))
    infrastructure: Any = sys.modules.get("scipy.stats._distn_infrastructure")
    if infrastructure is not None:
        plain_rvs = infrastructure.rv_generic.rvs

        def rvs(self: Any, *args: Any, **given: Any) -> Any:
            return plain_rvs(self, *args, **given) if current() is None else _rvs(self, *args, **given)

        found.append((infrastructure.rv_generic, "rvs", rvs))
    found += [(np, name, making(getattr(np, name))) for name in ("zeros", "empty")]
    found += [(np, name, _converting(getattr(np, name))) for name in ("array", "asarray", "asanyarray")]
    found += [(np, name, _of_lists(getattr(np, name))) for name in
              ("argmax", "argmin", "max", "min", "sum", "mean", "cumsum", "median", "amax", "amin")]  # fmt: skip
    found.append((np.linalg, "norm", _of_lists(np.linalg.norm)))
    found += [*more, *_of_libraries()]
    former = {id(getattr(owner, name)): new for owner, name, new in found}
    followed = {id(one.value): FollowedGenerator(type(one.value)) for one in ready}
    for one in ready:
        if one.default_of is not None:
            found += list(_of_defaults(one.default_of, followed))
    for names in modules:
        for name, value in list(names.items()):
            if id(value) in followed:
                found.append((names, name, followed[id(value)]))
            elif callable(value) and id(value) in former:
                found.append((names, name, former[id(value)]))
            elif name not in _SHADOWED and (shadow := _shadow_of(value)) is not None:
                found.append((names, name, shadow))
            elif name not in _SHADOWED and value is math:
                found.append((names, name, _MATH))
            elif getattr(value, "__module__", None) == "math" and getattr(math, name, None) is value:
                found.append((names, name, getattr(_MATH, name)))
        found += [(names, name, new) for name, new in _SHADOWED.items() if name not in names]
    return found


def _asked_by_json(original: Callable[..., Any]) -> Callable[..., Any]:
    """What makes an encoder: data that it writes as they are, floats and Counters, it would not know in the trace."""

    def make(markers: Any, default: Callable[[Any], Any], *args: Any, **given: Any) -> Any:
        def asked(value: Any) -> Any:
            if current() is not None and is_followed(value):
                _refuse("data that become text", "return or print noisy values only")
            return default(value)

        return original(markers, asked, *args, **given)

    return make


_BITS: Final = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def _of_defaults(function: Any, followed: Mapping[int, Any]) -> Iterator[tuple[Any, str, Any]]:
    """The defaults of a function, with generators in them that are followed."""
    if function.__defaults__:
        yield function, "__defaults__", tuple(followed.get(id(one), one) for one in function.__defaults__)
    if function.__kwdefaults__:
        own = {name: followed.get(id(one), one) for name, one in function.__kwdefaults__.items()}
        yield function, "__kwdefaults__", own


@contextmanager
def replacing(what: Sequence[tuple[Any, str, Any]]) -> Generator[None]:
    """Replace, and put back."""
    former: list[tuple[Any, str, Any]] = []
    try:
        for owner, name, new in what:
            held = owner if isinstance(owner, dict) else vars(owner)
            of_function = name in ("__defaults__", "__kwdefaults__")
            former.append((owner, name, getattr(owner, name) if of_function else held.get(name, _MISSING)))
            _put(owner, name, new)
        yield
    finally:
        for owner, name, old in reversed(former):
            with contextlib.suppress(AttributeError, KeyError):
                _put(owner, name, old)


def _put(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, dict):
        if value is _MISSING:
            del owner[name]
        else:
            owner[name] = value
    elif value is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


_MISSING: Final = object()


# builtins of the user's modules ---------------------------------------------------------------------------------------


def _shadow(kind: type, act: Callable[[Any], Any]) -> Any:
    """``float`` or ``int`` that keep what is noised in the trace; all else is as it was."""

    class Meta(type):
        def __call__(cls, *args: Any, **given: Any) -> Any:
            if args and (isinstance(args[0], Followed | Released) or hasattr(args[0], "_dpv_array")):
                return act(array_of(args[0]) if not isinstance(args[0], Released) else args[0])
            return kind(*args, **given)

        def __instancecheck__(cls, one: Any) -> bool:
            return isinstance(one, kind)

        def __subclasscheck__(cls, one: Any) -> bool:
            return issubclass(one, kind)

        def __getattr__(cls, name: str) -> Any:
            return getattr(kind, name)

        def __repr__(cls) -> str:
            return repr(kind)

        def __eq__(cls, other: Any) -> bool:
            return other is cls or other is kind

        def __hash__(cls) -> int:
            return hash(kind)

    return Meta(kind.__name__, (), {"dtype": np.dtype(kind)})


def _to_float(value: Any) -> Any:
    if isinstance(value, Released):
        if np.size(value._dpv_value) != 1:
            raise TypeError("only length-1 arrays can be converted to Python scalars")
        return value if np.asarray(value._dpv_value).dtype.kind == "f" else made(value._dpv_tape, np.float64(
            plain(value)))  # fmt: skip
    if is_total(value) and fact_of(value).shape == ():
        return value.astype(np.float64)
    return float(value)


def _to_int(value: Any) -> Any:
    if isinstance(value, Released):
        if value._dpv_options is not None:
            return value
        whole = np.trunc(plain(value))
        return made(value._dpv_tape, np.int64(whole) if np.ndim(whole) == 0 and abs(whole) < 2.0**62 else whole)
    if is_total(value) and fact_of(value).shape == ():
        return value.astype(np.int64)
    return int(value)


def _extreme(plain_function: Callable[..., Any], function: Any) -> Callable[..., Any]:
    def act(*args: Any, **given: Any) -> Any:
        if len(args) > 1 and not given and any(isinstance(one, Followed | Released) for one in args):
            found = args[0]
            for one in args[1:]:
                found = function(found, one)
            return found
        return plain_function(*args, **given)

    return act


def _length(value: Any) -> Any:
    """``len`` that gives the number of records as a statistic, where it is not public."""
    inner = getattr(value, "_dpv_records", None)
    array = inner() if inner is not None else value
    if isinstance(array, FollowedArray) and is_rows(array) and not known_length(array):
        return counted(array)
    return len(value)


_PYTHON_KINDS: Final = {"b": (bool, np.bool_), "i": (int, np.int64), "u": (int, np.uint64), "f": (float, np.float64)}


_HANDLES: Final = __name__.rpartition(".")[0]
"""The room of the classes that stand for arrays, frames and numbers."""


def _kinds_of(value: Any) -> Sequence[type] | None:
    """The classes that may stand where something is followed; None of anything else.

    A number may be one of Python or one of NumPy: which of them it is, the trace does not say.
    """
    if isinstance(value, Shape) or not type(value).__module__.startswith(_HANDLES):
        return None
    if type(value) is Released and type(value._dpv_value).__module__ not in ("builtins", "numpy"):
        return [type(value._dpv_value)]
    if type(value) is Released and np.ndim(value._dpv_value) == 0 and type(value._dpv_value) not in (dict, list, set):
        return _PYTHON_KINDS.get(np.asarray(value._dpv_value).dtype.kind, [type(value._dpv_value)])
    if isinstance(value, FollowedArray) and value.ndim == 0:
        return _PYTHON_KINDS.get(value.dtype.kind, [value.__class__])
    if type(value) in (FollowedArray, Released, FollowedGenerator, Building):
        return [value.__class__]
    if isinstance(value, Followed):  # a frame or a series that says so, or something that nobody asks
        return [value.__class__] if value.__class__ is not type(value) else []
    return []


def _asked(value: Any, answer: Callable[[type], bool]) -> bool | None:
    """The answer to a question about the class of what is followed; None of anything else."""
    kinds = _kinds_of(value)
    if kinds is None or current() is None:
        return None
    answers = {answer(kind) for kind in kinds}
    if len(answers) != 1:
        _refuse("a question about the class of what is followed, which Python and NumPy answer in different ways",
                "convert it, float(n) or np.asarray(n), without asking")  # fmt: skip
    return answers.pop()


def _shadow_of(value: Any) -> Any:
    """What stands for a function of Python that a module has under another name."""
    return next((one for name, one in _SHADOWED.items() if getattr(builtins, name) is value), None)


def _is_instance(value: Any, kinds: Any) -> bool:
    kinds = tuple(_unshadowed(one) for one in kinds) if isinstance(kinds, tuple) else _unshadowed(kinds)
    found = _asked(value, lambda kind: issubclass(kind, kinds))
    return isinstance(value, kinds) if found is None else found


def _unshadowed(kind: Any) -> Any:
    return {_SHADOWED["float"]: float, _SHADOWED["int"]: int}.get(kind, kind) if isinstance(kind, type) else kind


def _has_attribute(value: Any, name: str) -> bool:
    found = _asked(value, lambda kind: hasattr(kind, name))
    return hasattr(value, name) if found is None else found


def _attribute(value: Any, name: str, *default: Any) -> Any:
    if default and _asked(value, lambda kind: hasattr(kind, name)) is False:
        return default[0]
    return getattr(value, name, *default)


@final
class _Shadow:
    """A function in the place of one of Python, which looks like that one."""

    __slots__ = ("_act", "_of")

    def __init__(self, act: Callable[..., Any], of: Callable[..., Any]) -> None:
        self._act, self._of = act, of

    def __call__(self, *args: Any, **given: Any) -> Any:
        return self._act(*args, **given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def __repr__(self) -> str:
        return repr(self._of)


_SHADOWED: Final[dict[str, Any]] = {
    "isinstance": _Shadow(_is_instance, isinstance),
    "hasattr": _Shadow(_has_attribute, hasattr),
    "getattr": _Shadow(_attribute, getattr),
    "len": _Shadow(_length, len),
    "float": _shadow(float, _to_float),
    "int": _shadow(int, _to_int),
    "max": _Shadow(_extreme(max, np.maximum), max),
    "min": _Shadow(_extreme(min, np.minimum), min),
}


@final
class _Math:
    """``math`` that keeps what is noised in the trace."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)
        if not callable(found):
            return found
        function = getattr(np, {"pow": "power", "fabs": "absolute"}.get(name, name), None)

        def act(*args: Any) -> Any:
            if function is not None and any(isinstance(one, Followed | Released) for one in args):
                return function(*args)
            return found(*args)

        return act


_MATH: Final = _Math()


def is_followed(value: Any) -> bool:
    """Whether a value is data that were not noised, or draws."""
    return isinstance(value, Followed) or is_noise(value) or hasattr(value, "_dpv_array")
