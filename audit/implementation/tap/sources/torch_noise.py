"""PyTorch on the CPU, and opacus: normal and uniform tensors, and the noise of private optimizers.

A tensor of draws remembers them through sums, differences and multiples, as arrays do, but not through views: what is
changed in place through one is seen where the value no longer adds up, and is then not covered. Numbers are compared to
single precision.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dpverdict.audit.implementation.tap.linear_forms import Linear, added, drawn, escaped, plain, scaled
from dpverdict.audit.implementation.tap.sources.samplers import ADAPTED, Replaced
from dpverdict.audit.implementation.tap.tape import Call, Tape, caller, current, place
from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.uniform import Uniform

_ADDS: Final = {"add": 1, "__add__": 1, "__radd__": 1, "sub": -1, "__sub__": -1, "__rsub__": -1}
_TIMES: Final = {"mul": np.multiply, "__mul__": np.multiply, "__rmul__": np.multiply,
                 "div": np.true_divide, "__truediv__": np.true_divide, "true_divide": np.true_divide}  # fmt: skip
_IN_PLACE: Final = {"add_": "add", "__iadd__": "add", "sub_": "sub", "__isub__": "sub", "mul_": "mul",
                    "__imul__": "mul", "div_": "div", "__itruediv__": "div"}  # fmt: skip
_LOOKS: Final = ("__get__", "size", "dim", "__len__", "__repr__", "numel", "stride", "is_floating_point", "__format__")


def torch_replaced() -> list[Replaced]:
    """What is replaced where torch, or opacus, is loaded."""
    torch = sys.modules.get("torch")
    return [] if torch is None else [*_samplers(torch), *_opacus(torch)]


def reseed(seed: int) -> None:
    """Start torch's own generator anew, where it is loaded: what draws from it untapped repeats itself."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed % 2**63)


_CLASSES: dict[int, type] = {}


def _tensor_class(torch: Any) -> Any:
    if id(torch) not in _CLASSES:

        def through(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return _step(torch, func, args, kwargs or {})

        _CLASSES[id(torch)] = type("TaggedTensor", (torch.Tensor,), {"__torch_function__": classmethod(through)})
    return _CLASSES[id(torch)]


def _wrapped(torch: Any, one: Linear) -> Any:
    found = torch.from_numpy(np.array(one.value, copy=True)).as_subclass(_tensor_class(torch))
    found.tap_linear = one
    return found


def _bare(torch: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_bare(torch, one) for one in value)
    if isinstance(value, torch.Tensor) and hasattr(value, "tap_linear"):
        with torch._C.DisableTorchFunctionSubclass():
            return value.as_subclass(torch.Tensor)
    return value


def _linear(torch: Any, value: Any) -> Linear:
    found: Linear | None = getattr(value, "tap_linear", None)
    if found is not None:
        return found
    return plain(value.detach().numpy() if isinstance(value, torch.Tensor) else value)


def _step(torch: Any, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """One function of torch on tensors that remember."""
    tape, name = current(), getattr(func, "__name__", "")
    given = [_bare(torch, one) for one in args]
    named = {key: _bare(torch, one) for key, one in kwargs.items()}
    if tape is None or name in _LOOKS:
        return func(*given, **named)
    base = _IN_PLACE.get(name, name)
    numbers = [one for one in args[:2] if isinstance(one, torch.Tensor | int | float)]
    if len(numbers) == 2 and not {key for key in kwargs if key != "out"}:
        made = _arithmetic(torch, base, args, tape)
        if made is not None and name in _IN_PLACE:
            target = _bare(torch, args[0])
            with torch.no_grad():
                target.copy_(torch.from_numpy(np.array(made.value, copy=True)))
            if hasattr(args[0], "tap_linear"):
                args[0].tap_linear = made
            elif not made.mixed:
                escaped(made, "stored", tape)
            return args[0]
        if made is not None:
            return _wrapped(torch, made)
    for one in args:
        if hasattr(one, "tap_linear"):
            if name in ("clone", "detach", "cpu", "contiguous", "float", "double") and len(args) == 1:
                kept = one.tap_linear
                value = func(*given, **named).numpy()
                return _wrapped(torch, Linear(value, kept.query, kept.ids, kept.gains, kept.source, kept.entry))
            escaped(one.tap_linear, "transformed", tape)
    return func(*given, **named)


def _arithmetic(torch: Any, name: str, args: Any, tape: Tape) -> Linear | None:
    one, other = (_linear(torch, value) for value in args[:2])
    if name in _ADDS:
        if name == "__rsub__":
            one, other = other, one
        return added(one, other, _ADDS[name], np.add if _ADDS[name] > 0 else np.subtract, tape)
    if name in _TIMES and not other.drawn:
        return scaled(one, other.value, _TIMES[name], tape)
    if name in ("mul", "__mul__", "__rmul__") and not one.drawn:
        return scaled(other, one.value, np.multiply, tape)
    return None


def _samplers(torch: Any) -> list[Replaced]:
    def unit(what: str, law: Law, like: Any, original: Callable[[], Any]) -> Any:
        """A tensor of draws, in the type that ``like`` has."""
        tape = current()
        assert tape is not None
        shape = tuple(like.shape)
        draw = tape.draw(what, law, shape, lambda: original().detach().numpy().copy())
        return _wrapped(torch, drawn(draw.values, draw.first))

    def ours() -> bool:
        return current() is None or caller().startswith(ADAPTED) or caller().startswith("torch.nn")

    normal, randn, randn_like, rand, rand_like = (
        getattr(torch, name) for name in ("normal", "randn", "randn_like", "rand", "rand_like")
    )

    def tapped_randn(*size: Any, **kwargs: Any) -> Any:
        return (
            randn(*size, **kwargs)
            if ours()
            else unit("torch.randn", Gaussian(), randn(*size, **kwargs), lambda: randn(*size, **kwargs))
        )

    def tapped_rand(*size: Any, **kwargs: Any) -> Any:
        return (
            rand(*size, **kwargs)
            if ours()
            else unit("torch.rand", Uniform(), rand(*size, **kwargs), lambda: rand(*size, **kwargs))
        )

    def tapped_randn_like(like: Any, **kwargs: Any) -> Any:
        like = _bare(torch, like)
        made: Any = lambda: randn_like(like, **kwargs)  # noqa: E731
        return made() if ours() else unit("torch.randn_like", Gaussian(), like, made)

    def tapped_rand_like(like: Any, **kwargs: Any) -> Any:
        like = _bare(torch, like)
        made: Any = lambda: rand_like(like, **kwargs)  # noqa: E731
        return made() if ours() else unit("torch.rand_like", Uniform(), like, made)

    def tapped_normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, **kwargs: Any) -> Any:
        given = {} if size is None else {"size": size}
        if ours() or kwargs.get("out") is not None:
            return normal(_bare(torch, mean), _bare(torch, std), **given, **kwargs)
        kwargs.pop("generator", None)
        shape = size if size is not None else np.broadcast_shapes(np.shape(_bare(torch, mean)), np.shape(std))
        z = unit("torch.normal", Gaussian(), torch.zeros(shape), lambda: randn(shape, **kwargs))
        scaled_z = z if isinstance(std, int | float) and std == 1 else z * std
        return scaled_z if isinstance(mean, int | float) and mean == 0 else scaled_z + mean

    return [
        (torch, "randn", tapped_randn),
        (torch, "rand", tapped_rand),
        (torch, "randn_like", tapped_randn_like),
        (torch, "rand_like", tapped_rand_like),
        (torch, "normal", tapped_normal),
    ]


def _opacus(torch: Any) -> list[Replaced]:
    """The noise of every optimizer of opacus: what it is added to is the reference that it is made for."""
    found: list[Replaced] = []
    for name, module in list(sys.modules.items()):
        if name.startswith("opacus.") and "_generate_noise" in vars(module):
            found.append((module, "_generate_noise", _noise_of_opacus(torch, vars(module)["_generate_noise"])))
    return found


def _noise_of_opacus(torch: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    def generate(std: float, reference: Any, generator: Any = None, secure_mode: bool = False) -> Any:
        tape = current()
        make: Any = lambda: original(std, reference, generator=generator, secure_mode=secure_mode)  # noqa: E731
        if tape is None:
            return make()
        query = reference.detach().double().numpy().reshape(-1).copy()
        made = Call(
            what="opacus optimizer", value=query, told={"standard deviation": float(std)}, law=Gaussian(),
            scale=float(std), sensitivity=None, norm=2, epsilon=None, loss_upper=None, result=None, where=place(),
        )  # fmt: skip
        noisy = tape.call(made, lambda: (reference + make()).detach().clone())
        return noisy - reference  # so that the sum is the recorded one, up to the last bit of single precision

    return generate
