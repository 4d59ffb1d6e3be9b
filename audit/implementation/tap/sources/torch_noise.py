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

from dpverdict.audit.implementation.tap.linear_forms import (
    LinearForm,
    add_forms,
    drawn,
    form_of_data,
    mark_escaped,
    scale_form,
)
from dpverdict.audit.implementation.tap.sources.samplers import ADAPTED, Replaced
from dpverdict.audit.implementation.tap.tape import Call, Tape, calling_line, calling_module, current_tape
from dpverdict.audit.laws.base import Law
from dpverdict.audit.laws.gaussian import Gaussian
from dpverdict.audit.laws.uniform import Uniform

_ADDITIONS: Final = {"add": 1, "__add__": 1, "__radd__": 1, "sub": -1, "__sub__": -1, "__rsub__": -1}
_MULTIPLICATIONS: Final = {
    "mul": np.multiply,
    "__mul__": np.multiply,
    "__rmul__": np.multiply,
    "div": np.true_divide,
    "__truediv__": np.true_divide,
    "true_divide": np.true_divide,
}
_IN_PLACE: Final = {
    "add_": "add",
    "__iadd__": "add",
    "sub_": "sub",
    "__isub__": "sub",
    "mul_": "mul",
    "__imul__": "mul",
    "div_": "div",
    "__itruediv__": "div",
}
_READING: Final = (
    "__get__",
    "size",
    "dim",
    "__len__",
    "__repr__",
    "numel",
    "stride",
    "is_floating_point",
    "__format__",
)


def torch_replaced() -> list[Replaced]:
    """What is replaced where torch, or opacus, is loaded."""
    torch = sys.modules.get("torch")
    return [] if torch is None else [*_tapped_samplers(torch), *_opacus_noise(torch)]


def reseed(seed: int) -> None:
    """Start torch's own generator anew, where it is loaded: what draws from it untapped repeats itself."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed % 2**63)


_CLASSES: dict[int, type] = {}


def _tensor_class(torch: Any) -> Any:
    if id(torch) not in _CLASSES:

        def through(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return _follow_function(torch, func, args, kwargs or {})

        _CLASSES[id(torch)] = type("TaggedTensor", (torch.Tensor,), {"__torch_function__": classmethod(through)})
    return _CLASSES[id(torch)]


def _tagged_tensor(torch: Any, one: LinearForm) -> Any:
    found = torch.from_numpy(np.array(one.value, copy=True)).as_subclass(_tensor_class(torch))
    found.tap_linear = one
    return found


def _without_tags(torch: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_without_tags(torch, one) for one in value)
    if isinstance(value, torch.Tensor) and hasattr(value, "tap_linear"):
        with torch._C.DisableTorchFunctionSubclass():
            return value.as_subclass(torch.Tensor)
    return value


def _form_of(torch: Any, value: Any) -> LinearForm:
    found: LinearForm | None = getattr(value, "tap_linear", None)
    if found is not None:
        return found
    return form_of_data(value.detach().numpy() if isinstance(value, torch.Tensor) else value)


def _follow_function(torch: Any, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """One function of torch on tensors that remember."""
    tape, name = current_tape(), getattr(func, "__name__", "")
    given = [_without_tags(torch, one) for one in args]
    named = {key: _without_tags(torch, one) for key, one in kwargs.items()}
    if tape is None or name in _READING:
        return func(*given, **named)
    base = _IN_PLACE.get(name, name)
    numbers = [one for one in args[:2] if isinstance(one, torch.Tensor | int | float)]
    if len(numbers) == 2 and not {key for key in kwargs if key != "out"}:
        made = _form_of_arithmetic(torch, base, args, tape)
        if made is not None and name in _IN_PLACE:
            target = _without_tags(torch, args[0])
            with torch.no_grad():
                target.copy_(torch.from_numpy(np.array(made.value, copy=True)))
            if hasattr(args[0], "tap_linear"):
                args[0].tap_linear = made
            elif not made.mixed:
                mark_escaped(made, "stored", tape)
            return args[0]
        if made is not None:
            return _tagged_tensor(torch, made)
    for one in args:
        if hasattr(one, "tap_linear"):
            if name in ("clone", "detach", "cpu", "contiguous", "float", "double") and len(args) == 1:
                kept = one.tap_linear
                value = func(*given, **named).numpy()
                return _tagged_tensor(
                    torch, LinearForm(value, kept.query, kept.ids, kept.gains, kept.source, kept.entry)
                )
            mark_escaped(one.tap_linear, "transformed", tape)
    return func(*given, **named)


def _form_of_arithmetic(torch: Any, name: str, args: Any, tape: Tape) -> LinearForm | None:
    one, other = (_form_of(torch, value) for value in args[:2])
    if name in _ADDITIONS:
        if name == "__rsub__":
            one, other = other, one
        return add_forms(one, other, _ADDITIONS[name], np.add if _ADDITIONS[name] > 0 else np.subtract, tape)
    if name in _MULTIPLICATIONS and not other.drawn:
        return scale_form(one, other.value, _MULTIPLICATIONS[name], tape)
    if name in ("mul", "__mul__", "__rmul__") and not one.drawn:
        return scale_form(other, one.value, np.multiply, tape)
    return None


def _tapped_samplers(torch: Any) -> list[Replaced]:
    def unit(what: str, law: Law, like: Any, original: Callable[[], Any]) -> Any:
        """A tensor of draws, in the type that ``like`` has."""
        tape = current_tape()
        assert tape is not None
        shape = tuple(like.shape)
        draw = tape.draw(what, law, shape, lambda: original().detach().numpy().copy())
        return _tagged_tensor(torch, drawn(draw.values, draw.first))

    def ours() -> bool:
        return current_tape() is None or calling_module().startswith(ADAPTED) or calling_module().startswith("torch.nn")

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
        like = _without_tags(torch, like)
        made: Any = lambda: randn_like(like, **kwargs)  # noqa: E731
        return made() if ours() else unit("torch.randn_like", Gaussian(), like, made)

    def tapped_rand_like(like: Any, **kwargs: Any) -> Any:
        like = _without_tags(torch, like)
        made: Any = lambda: rand_like(like, **kwargs)  # noqa: E731
        return made() if ours() else unit("torch.rand_like", Uniform(), like, made)

    def tapped_normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, **kwargs: Any) -> Any:
        given = {} if size is None else {"size": size}
        if ours() or kwargs.get("out") is not None:
            return normal(_without_tags(torch, mean), _without_tags(torch, std), **given, **kwargs)
        kwargs.pop("generator", None)
        shape = size if size is not None else np.broadcast_shapes(np.shape(_without_tags(torch, mean)), np.shape(std))
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


def _opacus_noise(torch: Any) -> list[Replaced]:
    """The noise of every optimizer of opacus: what it is added to is the reference that it is made for."""
    found: list[Replaced] = []
    for name, module in list(sys.modules.items()):
        if name.startswith("opacus.") and "_generate_noise" in vars(module):
            found.append((module, "_generate_noise", _noise_of_opacus(torch, vars(module)["_generate_noise"])))
    return found


def _noise_of_opacus(torch: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    def generate(std: float, reference: Any, generator: Any = None, secure_mode: bool = False) -> Any:
        tape = current_tape()
        make: Any = lambda: original(std, reference, generator=generator, secure_mode=secure_mode)  # noqa: E731
        if tape is None:
            return make()
        query = reference.detach().double().numpy().reshape(-1).copy()
        made = Call(
            what="opacus optimizer",
            value=query,
            fixed_arguments={"standard deviation": float(std)},
            law=Gaussian(),
            scale=float(std),
            sensitivity=None,
            norm=2,
            epsilon=None,
            loss_upper=None,
            result=None,
            where=calling_line(),
        )
        noisy = tape.call(made, lambda: (reference + make()).detach().clone())
        return noisy - reference  # so that the sum is the recorded one, up to the last bit of single precision

    return generate
