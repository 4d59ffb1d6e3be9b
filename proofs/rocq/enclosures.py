"""The enclosure of delta that the certificate of a verdict holds, as a theorem of Rocq about the definition of delta.

Of a claim (epsilon, delta) of randomised response the claim itself is a theorem too, about every pair of answers. Of
one Laplace or Gaussian query the theorem is about the pair that is worst; that no pair is worse is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

from dpverdict.proofs.rocq.definitions import LIBRARY
from dpverdict.proofs.rocq.files import commented
from dpverdict.proofs.rocq.terms import NotTranslated

Json: TypeAlias = Mapping[str, Any]  # Any: the values of a JSON object
Bounds: TypeAlias = tuple[Fraction, Fraction]

DIGITS: Final = 12
"""Decimals of an enclosure that rests on enclosed integrals; the others are taken as they stand in the certificate."""
_HEAD: Final = f"""From Coq Require Import Reals Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Privacy Require Import {" ".join(LIBRARY)}.
Open Scope R_scope.
"""


def enclosure_of(document: Json) -> str:
    """The text of a file for Rocq with the enclosure of delta, beside the folder ``privacy``.

    Raises:
        NotTranslated: of another mechanism or claim there is no theorem yet.
    """
    verdict = document.get("verdict")
    if not isinstance(verdict, dict):
        raise NotTranslated("no certificate of a verdict")
    claim, make = verdict["claim"], _MECHANISMS.get(verdict["mechanism"])
    if make is None or claim["kind"] != "approximate":
        raise NotTranslated(f"the number of {verdict['mechanism']} with a claim that is {claim['kind']}")
    epsilon = _exact(claim["epsilon"])
    if epsilon < 0:
        raise NotTranslated("a negative epsilon")
    body = make(verdict["parameters"], epsilon, _exact(claim["delta"]), _attained(document))
    title = f"{verdict['mechanism']} {verdict['parameters']}: delta at epsilon {epsilon}"
    return f"(* {commented(title)} *)\n{_HEAD}\n{body}"


def _attained(document: Json) -> Bounds:
    """The lower and the upper end of what the certificate says is attained."""
    found = [
        evidence["value"]
        for reading in document["readings"]
        for condition in reading["conditions"]
        for evidence in condition["evidence"]
        if evidence["kind"] == "value"
    ]
    if len(found) != 1:
        raise NotTranslated(f"{len(found)} values in place of one")
    lower, upper = map(_exact, found[0])
    return lower, upper


def _exact(number: object) -> Fraction:
    try:
        return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise NotTranslated(f"the number {number}") from None


def _written(number: Fraction) -> str:
    return f"({number.numerator} / {number.denominator})"


def _outwards(bounds: Bounds) -> Bounds:
    unit = 10**DIGITS
    return Fraction(bounds[0] * unit // 1, unit), Fraction(-(-bounds[1] * unit // 1), unit)


def _response(parameters: Json, epsilon: Fraction, delta: Fraction, bounds: Bounds) -> str:
    options, odds = _exact(parameters["options"]), _exact(parameters["log_odds"])
    if options.denominator != 1 or options < 2:
        raise NotTranslated(f"a response of {options} values")
    if odds <= epsilon:
        raise NotTranslated("a delta that is 0")
    k, at, lower, upper = int(options), *map(_written, (epsilon, *bounds))
    law = f"randomised_response {k} {_written(odds)}"
    return f"""Theorem enclosure : forall truth other, other_answer {k} truth other ->
  {lower} <= profile (answers {k}) ({law} truth) ({law} other) {at} <= {upper}.
Proof.
  intros truth other different. rewrite randomised_response_closed_form by (exact different || lra).
  rewrite Rmax_right by (interval with (i_prec 150)).
  replace (INR {k}) with {k} by (rewrite INR_IZR_INZ; reflexivity). split; interval with (i_prec 150).
Qed.

Theorem claim : approximately_private (answers {k}) (other_answer {k}) ({law}) {at} {_written(delta)}.
Proof.
  intros truth other different. apply privacy_of_pair_is_profile.
  apply Rle_trans with {upper}; [now apply enclosure | lra].
Qed.

Print Assumptions claim.
"""


def _laplace(parameters: Json, epsilon: Fraction, delta: Fraction, bounds: Bounds) -> str:
    if parameters["dim"] != "1":
        raise NotTranslated("Laplace noise on several queries")
    scale, shift = _exact(parameters["scale"]), _exact(parameters["radius"])
    if shift <= scale * epsilon:
        raise NotTranslated("a delta that is 0")
    b, s, at, lower, upper = map(_written, (scale, shift, epsilon, *bounds))
    return f"""Theorem enclosure : exists delta,
  is_profile (laplace {b} 0) (laplace {b} {s}) {at} delta /\\ {lower} <= delta <= {upper}.
Proof.
  eexists. split; [apply laplace_profile; [lra | split; [lra | interval with (i_prec 150)]] | ].
  split; interval with (i_prec 150).
Qed.

Print Assumptions enclosure.
"""


def _gaussian(parameters: Json, epsilon: Fraction, delta: Fraction, bounds: Bounds) -> str:
    if parameters["dim"] != "1":
        raise NotTranslated("Gaussian noise on several queries")
    scale = _exact(parameters["scale"])
    if scale <= 0:
        raise NotTranslated(f"the scale {scale}")
    mu, at, lower, upper = map(_written, (1 / scale, epsilon, *_outwards(bounds)))
    within = "with (i_prec 90, i_fuel 500, i_degree 12, i_relwidth 60)"
    return f"""Theorem enclosure : exists delta,
  is_profile (gaussian {mu}) (gaussian 0) {at} delta /\\ {lower} <= delta <= {upper}.
Proof.
  exists (gaussian_profile {mu} {at}). split; [apply gaussian_profile_in_closed_form; lra | ].
  unfold gaussian_profile. rewrite !Phi_by_bell. unfold bell_up_to, bell.
  integral_intro (RInt (fun t => exp (- t ^ 2 / 2)) 0 ({mu} / 2 - {at} / {mu})) {within} as A.
  integral_intro (RInt (fun t => exp (- t ^ 2 / 2)) 0 (- {mu} / 2 - {at} / {mu})) {within} as B.
  split; interval with (i_prec 90).
Qed.

Print Assumptions enclosure.
"""


_MECHANISMS: Final[Mapping[str, Callable[[Json, Fraction, Fraction, Bounds], str]]] = {
    "randomized-response": _response,
    "laplace": _laplace,
    "standard-gaussian": _gaussian,
}
