"""The audit of a sampler as a user asks for it, in a process of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from dpverdict.audit.batches.claim import read_claim
from dpverdict.audit.batches.drawn import FEWEST_BATCHES, draw_batches
from dpverdict.audit.batches.epsilons import Training
from dpverdict.audit.batches.sampler_audit import SamplerAudit, audit_batches
from dpverdict.audit.documents.request import DEFAULT_ERROR_PROBABILITY
from dpverdict.audit.isolation.process import Limits
from dpverdict.audit.isolation.requests import answer_of, answered
from dpverdict.audit.trials.user_functions import load_callable, probability
from dpverdict.balls import exactly
from dpverdict.checks import check_positive
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.numerics.text import whole_number

ENTRY: Final = "dpverdict.audit.batches.sampler_request:work"
DEFAULT_BATCHES: Final = 1000
MOST_BATCHES: Final = 100_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerRequest:
    """What is asked about a loader, every part as text; None stands for "not given".

    Attributes:
        loader: ``module:function`` or ``file.py:function``; see `draw_batches`.
        sampling: how batches are said to be made.
        rate: of Poisson sampling and of balls in bins.
        size: of batches of fixed size, and of shuffled ones.
        records: their number; what the loader says if not given.
        batches: to be drawn, at least.
        seed: of what the loader is made with; fresh if not given.
        error_probability: of rejecting a claim that holds.
        noise_multiplier: of the training whose epsilon is wanted, with steps and delta.
        steps: of it.
        delta: of it.
    """

    loader: str
    sampling: str
    rate: str | None = None
    size: str | None = None
    records: str | None = None
    batches: str | None = None
    seed: str | None = None
    error_probability: str | None = None
    noise_multiplier: str | None = None
    steps: str | None = None
    delta: str | None = None


class SamplerAuditFailed(DpverdictError):
    """A request could not be carried out in its process; the message is the one it had there."""


def audit_sampler(request: SamplerRequest, limits: Limits) -> SamplerAudit:
    """Carry out a request in a process of its own.

    Raises:
        DpverdictError: it cannot be carried out, or did not finish.
    """
    _read(request)  # what is wrong with the options is said at once
    return answer_of(
        ENTRY,
        asdict(request),
        SamplerAudit.from_dict,
        what=request.loader,
        kind="an audit",
        failed=SamplerAuditFailed,
        limits=limits,
    )


def work(request: Mapping[str, Any], tell: Callable[[object], None]) -> dict[str, object]:
    """The other side: load the function, draw the batches, test the claim."""
    return answered(lambda: _carry_out(SamplerRequest(**request)), "audit")


def _read(request: SamplerRequest) -> tuple[float, Training | None, int]:
    """The error probability, the training, and how many batches are drawn."""
    read_claim(request.sampling, request.rate, request.size)
    error = probability(request.error_probability or DEFAULT_ERROR_PROBABILITY, "error_probability")
    number = DEFAULT_BATCHES
    if request.batches is not None:
        number = whole_number(request.batches, "batches", at_least=FEWEST_BATCHES, at_most=MOST_BATCHES)
    asked = {name: getattr(request, name) for name in ("noise_multiplier", "steps", "delta")}
    missing = [name for name, text in asked.items() if text is None]
    if len(missing) == len(asked):
        return error, None, number
    if missing:
        remedy = "an epsilon is that of --noise-multiplier, --steps and --delta together"
        raise InvalidValue(missing[0], None, "given, or all three left out", remedy)
    delta = exactly(asked["delta"], name="delta")
    probability(asked["delta"], "delta")
    training = Training(
        noise_multiplier=check_positive(asked["noise_multiplier"], "noise_multiplier"),
        steps=whole_number(asked["steps"], "steps", at_least=1, at_most=10**7),
        delta=delta,
    )
    return error, training, number


def _carry_out(request: SamplerRequest) -> SamplerAudit:
    claim = read_claim(request.sampling, request.rate, request.size)
    error, training, number = _read(request)
    seed = secrets.randbits(63) if request.seed is None else whole_number(request.seed, "seed", at_least=0)
    records = None if request.records is None else whole_number(request.records, "records", at_least=1)
    make = load_callable(request.loader, name="loader")
    drawn = draw_batches(make, batches=number, records=records, seed=seed, name=request.loader)
    return audit_batches(drawn, claim, error_probability=error, training=training, seed=seed)
