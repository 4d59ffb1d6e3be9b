"""The parameters of a mechanism in exact numbers, as the head of its certificate states them.

They are those that its worst pair follows from: the noise that is sampled, not the claim that it was calibrated for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.mechanisms.core.noise import SharedNoise
from dpverdict.mechanisms.core.sensitivity import Cube
from dpverdict.mechanisms.streams.strategies import Toeplitz
from dpverdict.mechanisms.sums.whole_noise import DiscreteGaussianNoise
from dpverdict.numerics.exponential_sums import ExponentialSum
from dpverdict.proofs.verdicts.laws import Json
from dpverdict.proofs.verdicts.streams import MOST_STEPS

_Mechanism = Any
"""A mechanism of the catalogue: its class is known by its name, its attributes are read below."""


def exact_text_of(value: Any) -> str:
    """A number as a fraction in lowest terms."""
    return str(Fraction(value))


def parameters_of(mechanism: _Mechanism) -> Json:
    """The parameters by name.

    Raises:
        InvalidValue: a mechanism that certificates are not written of.
    """
    read = _READERS.get(mechanism.name)
    if mechanism.name.startswith("broken:"):
        read = _stated
    if read is None:
        requirement = f"a mechanism that certificates are written of: {', '.join(_READERS)}"
        raise InvalidValue("mechanism", mechanism.name, requirement, "leave the certificate out")
    values = read(mechanism)
    return {name: value if isinstance(value, str | list) else exact_text_of(value) for name, value in values.items()}


def claim_of(claim: Guarantee) -> Json:
    """A claim in exact numbers."""
    match claim:
        case GaussianDP():
            return {"kind": "gaussian", "mu": str(claim.mu)}
        case PureDP():
            return {"kind": "pure", "epsilon": str(claim.epsilon)}
        case ApproximateDP():
            return {"kind": "approximate", "epsilon": str(claim.epsilon), "delta": str(claim.delta)}
        case ZeroConcentratedDP():
            return {"kind": "concentrated", "rho": str(claim.rho)}
        case RenyiDP():
            return {"kind": "renyi", "order": str(claim.order), "epsilon": str(claim.epsilon)}


def _attributes(*names: str) -> Callable[[_Mechanism], Json]:
    return lambda mechanism: {name: getattr(mechanism, name) for name in names}


def _count_ellipse(mechanism: _Mechanism) -> Json:
    found = _attributes("dim", "k", "count", "independent_scale", "shared_scale", "count_scale")(mechanism)
    return found | ({"layer": mechanism.active_layers[0]} if mechanism.count == "released" else {})


def _elliptical(mechanism: _Mechanism) -> Json:
    rows = Counter(zip(mechanism.bounds.tolist(), mechanism.scales.tolist(), strict=True))
    table = sorted((Fraction(b), Fraction(s), Fraction(n)) for (b, s), n in rows.items())
    return {"coordinates": [[str(one) for one in row] for row in table]}


def _optimal_grouped(mechanism: _Mechanism) -> Json:
    names = "within_scale", "between_scale", "common_scale"
    return _attributes("groups", "dim")(mechanism) | _attributes(*names)(mechanism.noise)


def _gaussian(mechanism: _Mechanism) -> Json:
    sigma, reach = mechanism.noise.independent_scale, mechanism.sensitivity.reach
    return {"dim": mechanism.dim, "sigma": sigma, "sensitivity": reach}


def _laplace(mechanism: _Mechanism) -> Json:
    space = mechanism.sensitivity
    return {"dim": space.dim, "norm": space.norm, "radius": space.radius, "scale": 1 / Fraction(mechanism.noise.rate)}


def _factorization(mechanism: _Mechanism) -> Json:
    return {
        "horizon": mechanism.horizon,
        "kind": mechanism.kind,
        "noise": mechanism.noise_kind,
        "scale": mechanism.noise.scale,
    }


def _tree(mechanism: _Mechanism) -> Json:
    found = _attributes("horizon", "arity", "digits")(mechanism)
    return found | {"noise": mechanism.noise_kind, "rate": mechanism.noise.rate}


def _selection(mechanism: _Mechanism) -> Json:
    return {"options": mechanism.dim, "sensitivity": mechanism.reach, "rate": mechanism.noise.rate}


def _geometric(mechanism: _Mechanism) -> Json:
    space = mechanism.sensitivity
    unbounded = space.outputs == "unbounded"
    return {
        "sensitivity": space.reach,
        "rate": mechanism.noise.rate,
        "outputs": space.outputs,
        "low": 0 if unbounded else space.low,
        "high": 0 if unbounded else space.high,
    }


def _response(mechanism: _Mechanism) -> Json:
    rate = mechanism.claim.epsilon
    if mechanism.noise.odds != ExponentialSum.exp(rate):
        requirement = "of the odds exp(epsilon) of its claim"
        raise InvalidValue("mechanism", mechanism.name, requirement, "leave the certificate out")
    return {"options": mechanism.options, "log_odds": rate}


def _threshold(mechanism: _Mechanism) -> Json:
    noise = mechanism.noise
    return {
        "queries": mechanism.dim,
        "positives": mechanism.positives,
        "threshold": mechanism.threshold,
        "sensitivity": mechanism.reach,
        "threshold_scale": noise.threshold_scale,
        "query_scale": noise.query_scale,
    }


def _local(*names: str) -> Callable[[_Mechanism], Json]:
    return lambda mechanism: _attributes(*names)(mechanism) | {"epsilon": mechanism.claim.epsilon}


def _secure_sum(mechanism: _Mechanism) -> Json:
    shares = mechanism.noise.shares
    own = {"noise": shares.name, "share": shares.size, "sensitivity": mechanism.reach}
    return _attributes("parties", "dropouts", "modulus")(mechanism) | own


def _contributions(mechanism: _Mechanism) -> Json:
    bounds = mechanism.bounds
    return {
        "dim": bounds.dim,
        "keys": bounds.keys,
        "per_key": bounds.per_key,
        "values": "symmetric" if bounds.low else "from 0",
        "high": bounds.high,
        "l1": bounds.l1 or 0,
        "l2": bounds.l2 or 0,
        **_noise_of_sums(mechanism.noise),
    }


def _noise_of_sums(noise: Any) -> Json:
    if isinstance(noise, DiscreteGaussianNoise):
        return {"noise": "discrete-gaussian", "variance": noise.variance}
    if isinstance(noise, SharedNoise):
        return {"noise": "gaussian", "scale": noise.independent_scale}
    return {"noise": "laplace", "scale": noise.scale}


def _thresholded(mechanism: _Mechanism) -> Json:
    noise = {"noise": mechanism.noise.name, "scale": mechanism.noise.scale}
    return _attributes("dim", "keys", "per_key", "threshold")(mechanism) | noise


def _stated(mechanism: _Mechanism) -> Json:
    noise, space = mechanism.noise, mechanism.sensitivity
    loadings = (None, 0, 1, 2, 3, 4)
    if not (isinstance(noise, SharedNoise) and isinstance(space, Cube)) or noise.count_loading not in loadings:
        return {"stated": "nothing", "dim": mechanism.dim}
    return {
        "stated": "cube",
        "dim": noise.dim,
        "count_loading": "none" if noise.count_loading is None else str(noise.count_loading),
        "independent_scale": noise.independent_scale,
        "shared_scale": noise.shared_scale,
        "count_scale": noise.count_scale,
        "low": space.low - space.offset,
        "high": space.high - space.offset,
        "copies": space.copies,
        "nonzero": space.nonzero or 0,
    }


def _coefficients(mechanism: _Mechanism) -> Json:
    strategy = mechanism.strategy
    entries = strategy.exact_coefficients if isinstance(strategy, Toeplitz) and strategy.falling else None
    if entries is None or mechanism.steps > MOST_STEPS:
        requirement = f"Toeplitz with rational coefficients that fall, of at most {MOST_STEPS} steps"
        raise InvalidValue("kind", mechanism.kind, requirement, "leave the certificate out")
    return _attributes(*_RUN)(mechanism) | {"coefficients": [[str(entry)] for entry in entries]}


def _sampled_matrix(mechanism: _Mechanism) -> Json:
    return _coefficients(mechanism) | _attributes("sampling", "separation", "rate")(mechanism)


def _matrix(mechanism: _Mechanism) -> Json:
    participation = mechanism.participation
    return _coefficients(mechanism) | {
        "participation": participation.name,
        "separation": participation.separation,
        "participations": participation.most,
    }


_RUN = ("noise_multiplier", "clipping_norm", "dim", "steps")
_READERS: Final[Mapping[str, Callable[[_Mechanism], Json]]] = {
    "above-threshold": _threshold,
    "bounded-contributions": _contributions,
    "correlated-gaussian": _attributes("dim", "count", "independent_scale", "shared_scale"),
    "count-ellipse": _count_ellipse,
    "count-mean-sketch": _local("options", "width"),
    "discrete-correlated-gaussian": _attributes("dim", "query_variance", "count_variance"),
    "dp-ftrl": _attributes(*_RUN, "epochs", "kind", "participation"),
    "dp-sgd": _attributes(*_RUN, "rate", "sampling"),
    "elliptical-gaussian": _elliptical,
    "exponential": _selection,
    "factorization-counter": _factorization,
    "gaussian": _gaussian,
    "geometric": _geometric,
    "grouped-gaussian": _attributes("groups", "dim", "independent_scale", "shared_scale"),
    "hadamard-response": _local("options"),
    "laplace": _laplace,
    "local-hashing": _local("options", "hashes"),
    "matrix-mechanism": _matrix,
    "number-report": _local("pieces"),
    "optimal-grouped-gaussian": _optimal_grouped,
    "partition-selection": _attributes("dim", "keys", "key_epsilon", "key_delta"),
    "permute-and-flip": _selection,
    "quantile": _attributes("quantile", "rate"),
    "randomized-response": _response,
    "rappor": _attributes("options", "flip", "report_zero", "report_one", "hashes", "reports"),
    "rank1-gaussian": _attributes("dim", "radius", "scale"),
    "report-noisy-max": lambda mechanism: {"noise": mechanism.noise_name} | _selection(mechanism),
    "sampled-matrix": _sampled_matrix,
    "secure-sum": _secure_sum,
    "shuffled-reports": _attributes("people", "randomizer", "options", "local_epsilon"),
    "standard-gaussian": _attributes("dim", "scale"),
    "subset-selection": _local("options", "subset"),
    "thresholded-counts": _thresholded,
    "tree-counter": _tree,
    "unary-encoding": _local("options", "bits"),
    "vote-ellipse": _attributes("dim", "independent_scale", "shared_scale"),
}
