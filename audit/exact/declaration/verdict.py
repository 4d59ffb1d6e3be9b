"""The verdict on what a mechanism declares, as far as its code leaves it standing.

A certificate rests on three things that a class says of itself: what its statistic is, how far neighbours move it, and
which noise is added. Of the classes here that is proved and tested; of anybody else's it is tried. The statistic is run
on the worst neighbours that were declared, and on vertices, corners and random neighbours of the records that it
accepts, twice each. What a move costs is known exactly from the declared noise, so a pair that moves further than
declared is a witness where it breaks the claim, and where it does not, it leaves no bound on the others. Releases are
compared with the declared statistic, noise and decoding from the same random numbers, bit for bit.

What is tried is not all there is: what was found to hold is still taken on trust, and the verdict says so first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpverdict.audit.exact.declaration.lists import stated_lists_tried
from dpverdict.audit.exact.declaration.origin import (
    ROUNDING,
    SEED,
)
from dpverdict.audit.exact.declaration.sampler import sampler_tried
from dpverdict.audit.exact.declaration.statistic import decoding_keeps_all, tried
from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import gdp_parameter
from dpverdict.mechanisms.core.bounds import AttainedLoss, Bounds, Dominating, WorstPair
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism, StructuredMechanism

Decide = Callable[[Bounds], Verdict]
"""The verdict on the claim by other bounds."""


def held_to_its_code(mechanism: StructuredMechanism, bounds: Bounds, verdict: Verdict, decide: Decide) -> Verdict:
    """The verdict of what a mechanism declares, as far as what its code was seen to do leaves it standing."""
    if isinstance(mechanism, AdditiveMechanism):
        return _of_additive(mechanism, bounds, verdict, decide)
    return _of_stated(mechanism, bounds, verdict)


def _undecided_verdict(verdict: Verdict, reason: str) -> Verdict:
    return Verdict(status=Status.INCONCLUSIVE, mechanism=verdict.mechanism, claim=verdict.claim, reason=reason)


def _of_additive(mechanism: AdditiveMechanism, bounds: Bounds, verdict: Verdict, decide: Decide) -> Verdict:
    """Of a mechanism that declares a noise and a sensitivity space: neighbours are tried, and releases compared."""
    name = type(mechanism).__name__
    if not bounds.below:
        return _undecided_verdict(verdict, f"what {name} declares cannot be tried: it states no pair of neighbours")
    found, sampler = tried(mechanism, bounds, SEED), sampler_tried(mechanism, bounds.below[0].pair)

    def trust(status: Status) -> str:
        parts = [
            f"that it releases what it declares ({sampler.releases} comparisons on equal random numbers)",
            sampler.stated,
        ]
        if status is Status.CERTIFIED:
            parts.insert(0, f"that no neighbours move further than it declares (tried on {found.pairs})")
        if status is Status.CERTIFIED and found.unbounded:
            parts.append("that records lie in the declared range, since its check accepts numbers of any size")
        return f"{name} is not, as it stands, of this library: {'; '.join(parts)}"

    if found.undecided is not None or found.declared is None:
        return _undecided_verdict(verdict, f"what {name} declares cannot be tried: {found.undecided}")
    if sampler.undecided is not None:
        return _undecided_verdict(verdict, f"{name} declares one law and samples another: {sampler.undecided}")
    unattained = verdict.status is Status.REFUTED and _falls_short(found.declared, bounds)
    for pair in (*found.further, *((found.declared,) if unattained else ())):
        own = decide(Bounds(below=(pair,) if found.proves else ()))
        if own.status is Status.REFUTED:
            verdict, unattained = own, False
            break
    else:
        if found.further:
            return _undecided_verdict(
                verdict,
                f"neighbours move further than {name} declares ({found.further[0].description}), and nothing bounds "
                "the others; the claim survives on those that were tried",
            )
    if unattained:
        reason = f"what {name} declares breaks the claim, but no neighbours were found that move so far"
        return _undecided_verdict(verdict, reason)
    if verdict.status is Status.REFUTED and not decoding_keeps_all(mechanism):
        reason = f"the noisy statistic breaks the claim, but the decode of {name} may forget what shows it"
        return _undecided_verdict(verdict, reason)
    return verdict if verdict.status is Status.INCONCLUSIVE else replace(verdict, on_trust=trust(verdict.status))


def _falls_short(moved: AttainedLoss, bounds: Bounds) -> bool:
    """Whether the statistic moves the declared worst pair less than declared, beyond rounding."""
    stated = [entry.loss for entry in (*bounds.above, *bounds.below) if isinstance(entry, _WITH_LOSS)]
    declared, own = gdp_parameter(stated[0]), gdp_parameter(moved.loss)
    if declared is None or own is None:
        return moved.loss.law_key not in [loss.law_key for loss in stated]
    return own.upper < declared.lower * (1 - ROUNDING)


_WITH_LOSS = (Dominating, WorstPair, AttainedLoss)


def _of_stated(mechanism: StructuredMechanism, bounds: Bounds, verdict: Verdict) -> Verdict:
    """Of a mechanism that states its lists: they must agree, and its releases must not show that they are wrong."""
    name = type(mechanism).__name__
    found = stated_lists_tried(mechanism, bounds)
    if found.undecided is not None:
        return _undecided_verdict(verdict, f"what {name} states is wrong: {found.undecided}")
    if verdict.status is Status.INCONCLUSIVE:
        return verdict
    said = (
        "that what it states from above holds for every pair of neighbours"
        if verdict.status is Status.CERTIFIED
        else "that the pair which breaks the claim attains what it states"
    )
    trust = f"{name} is not, as it stands, of this library: {said} ({found.stated})"
    return replace(verdict, on_trust=trust)
