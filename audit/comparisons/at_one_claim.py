"""Several mechanisms with the least noise at which each keeps one claim: their noise, their errors, their curves.

The noise is certified to keep the claim, to six digits. Errors are means over releases that were sampled here: they
describe, and certify nothing.
"""

from __future__ import annotations

import json
import math
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final, final

import numpy as np

from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.exact.calibrate import Calibration, calibrate
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.losses.base import BallLoss, PrivacyLoss, curves_of
from dpverdict.audit.reports.figures import compared
from dpverdict.audit.reports.html import render_answer
from dpverdict.audit.reports.parts import EvidenceKind, Section, Table, facts
from dpverdict.audit.trials.catalogue import class_named, find_mechanism, option, takes
from dpverdict.balls import Real
from dpverdict.cards import FLOOR, Curves, ThroughPoints, answer_card
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, as_guarantee
from dpverdict.mechanisms.core.mechanism import StatisticMechanism, StructuredMechanism
from dpverdict.mechanisms.core.neighbours import adjacency_name
from dpverdict.numerics.roots import rounded_up
from dpverdict.numerics.stages import begin_stage, shown_in_a_notebook
from dpverdict.numerics.text import at_least, at_most, exact_text, time_stamp, whole_number
from dpverdict.risk import Risk, checked_base_rate
from dpverdict.suggestions import listed

MOST_MECHANISMS: Final = 12
"""That one table holds."""
RECORDS: Final = 10
NUMBERS: Final = 4_000_000
"""That are drawn for the errors of one mechanism, about."""
MOST_RELEASES: Final = 100_000
SEED: Final = 1
SECONDS: Final = 30
"""For the least noise of one mechanism."""
WIDTH: Final = 1e-7
"""How close to the least noise, relatively."""
_INVERSE: Final[Mapping[str, Callable[[float], float]]] = {
    "rho": lambda scale: 1 / scale**2,
    "mu": lambda scale: 1 / scale,
    "epsilon": lambda scale: 1 / scale,
}
"""The parameters that stand for a noise where a mechanism has no scale, as functions of one."""
_DIGITS: Final = 6
_COLUMNS: Final = 80


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMechanism:
    """One mechanism at the claim.

    Attributes:
        name: of the catalogue.
        parameter: what was sought, such as sigma or mu.
        value: its value, at which the claim is certified.
        relation: the neighbouring relation.
        statement: what was certified.
        loss: its privacy loss, or one that dominates it.
        attained: whether less noise certainly breaks the claim; otherwise it is not known to keep it.
        standard_deviation: of the error of one number, the mean over all of them.
        errors: the mean l1, l2 and linf norm of the error of a release.
        releases: that the errors are means of.
    """

    name: str
    parameter: str
    value: float
    relation: str
    statement: str
    loss: PrivacyLoss
    attained: bool
    standard_deviation: float
    errors: tuple[float, float, float]
    releases: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismComparison:
    """All of them.

    Attributes:
        claim: that each is to keep.
        given: the parameters that were given, in words.
        kept: those that keep it, the least error first.
        failed: why the others do not, by name.
        notes: what a reader has to know, a sentence each.
        risk: what an attacker attains under the claim; None without a base rate.
    """

    claim: Guarantee
    given: Mapping[str, str]
    kept: tuple[ComparedMechanism, ...]
    failed: Mapping[str, str]
    notes: tuple[str, ...]
    risks: Mapping[str, Risk]

    @property
    def answer(self) -> str:
        """Which of them has the smallest error."""
        if not self.kept:
            return "None of them was found to keep it."
        return (
            f"The smallest error is that of {self.kept[0].name}: {self.kept[0].standard_deviation:.4g} in one number."
        )

    def text(self) -> str:
        """The answer and the table, at most 80 characters wide."""
        named = "".join(f", {name} {value}" for name, value in self.given.items())
        lines = [self.answer, "", f"The least noise that keeps {self.claim.describe()}{named}"]
        if self.kept:
            width = max(len(one.name) for one in self.kept)
            lines += ["", self._line("", "noise, certified", ("error", "l1", "l2", "linf"), width)]
            for one in self.kept:
                errors = (f"{number:.4g}" for number in (one.standard_deviation, *one.errors))
                lines.append(self._line(one.name, _noise_in_words(one), tuple(errors), width))
        for name, why in self.failed.items():
            lines += textwrap.wrap(f"{name}: {why}", _COLUMNS - 2, initial_indent="  ", subsequent_indent="    ")[:3]
        lines += [""] if self.kept or self.failed else []
        for note in (*self._about_errors(), *self.notes):
            lines += textwrap.wrap(note, _COLUMNS, break_on_hyphens=False)
        for name, risk in self.risks.items():
            lines += textwrap.wrap(f"{name}: {risk.headline}", _COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
        return "\n".join(lines)

    @staticmethod
    def _line(name: str, noise: str, errors: tuple[str, ...], width: int) -> str:
        return f"  {name.ljust(width)}  {noise.ljust(17)}" + "".join(error.rjust(7) for error in errors)

    def _about_errors(self) -> tuple[str, ...]:
        if not self.kept:
            return ()
        releases = min(one.releases for one in self.kept)
        return (
            f"The errors are means over {releases} releases: the standard deviation of one number (error), and the l1, "
            "l2 and linf norm of the error of a whole release.",
        )

    def fields(self) -> Mapping[str, object]:
        """The same as JSON values."""
        return {
            "format": "dpverdict comparison",
            "version": 1,
            "claim": self.claim.describe(),
            "parameters": dict(self.given),
            "kept": [
                {
                    "mechanism": one.name,
                    "parameter": one.parameter,
                    "value": one.value,
                    "relation": one.relation,
                    "certified": one.statement,
                    "least": one.attained,
                    "standard_deviation": one.standard_deviation,
                    "error_l1": one.errors[0],
                    "error_l2": one.errors[1],
                    "error_linf": one.errors[2],
                    "releases": one.releases,
                    "risk": None if one.name not in self.risks else self.risks[one.name].fields(),
                }
                for one in self.kept
            ],
            "failed": [{"mechanism": name, "why": why} for name, why in self.failed.items()],
            "notes": list(self.notes),
            "versions": software_versions(),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = {
            one.name: f"{_noise_in_words(one)}, certified; error {one.standard_deviation:.4g} in one number"
            for one in self.kept
        }
        return answer_card(
            self.answer,
            rows | dict(self.failed),
            caption=f"the least noise that keeps {self.claim.describe()}",
            follows="certify the one you choose; comparison.page() is all of it as a page.",
            curves=[*map(_drawn, self.kept), curves_of(self.claim, "the claim")],
        )

    def json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.fields(), indent=2, allow_nan=False) + "\n"

    def page(self) -> str:
        """The table and the curves as one HTML page that loads nothing."""
        curves = [_drawn(one) for one in self.kept]
        return render_answer(
            brand="comparison",
            status=(Status.INCONCLUSIVE if self.failed else Status.CERTIFIED).name,
            subject="The least noise",
            verb="that keeps",
            claim=self.claim.describe(),
            answer=self.answer,
            sections=tuple(self._sections()),
            figures=compared(curves, curves_of(self.claim, "the claim")) if curves else (),
            created=time_stamp(datetime.now(UTC)),
            closing="Noise is certified to keep the claim; errors are means over releases, and certify nothing.",
        )

    def _sections(self) -> Iterator[Section]:
        header = ("mechanism", "noise", "error", "l1", "l2", "linf")
        rows = tuple(
            (
                one.name,
                _noise_in_words(one),
                *(f"{number:.4g}" for number in (one.standard_deviation, *one.errors)),
            )
            for one in self.kept
        )
        yield Section(
            anchor="mechanisms",
            title="Mechanisms",
            evidence=EvidenceKind.NONE,
            text=(*self._about_errors(), *self.notes),
            tables=(Table(header=header, rows=rows),) if rows else (),
        )
        if self.failed:
            yield Section(
                anchor="failed", title="Left out", evidence=EvidenceKind.NONE, tables=(facts(dict(self.failed)),)
            )
        if self.kept:
            said = {one.name: one.statement for one in self.kept}
            yield Section(
                anchor="certified", title="What is certified", evidence=EvidenceKind.EXACT, tables=(facts(said),)
            )
        if self.risks:
            said = {name: " ".join(risk.sentences()) for name, risk in self.risks.items()}
            yield Section(anchor="risk", title="Risk", evidence=EvidenceKind.NONE, tables=(facts(said),))
        named = {"claim": self.claim.describe(), **self.given}
        named["versions"] = ", ".join(f"{name} {version}" for name, version in software_versions().items())
        yield Section(anchor="given", title="What was given", evidence=EvidenceKind.NONE, tables=(facts(named),))


_ALPHAS: Final = (1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.07, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95, 0.999)
_POINTS: Final = 13


def _drawn(one: ComparedMechanism) -> Curves:
    """Both curves of a mechanism; through a few points where each value is computed in balls, which takes long."""
    if not isinstance(one.loss, BallLoss):
        return curves_of(one.loss, one.name)
    alphas = np.array(_ALPHAS)
    epsilons = np.linspace(0, float(one.loss.epsilon(FLOOR * 10)), _POINTS)
    points = ThroughPoints(
        alphas=alphas, betas=one.loss.beta(alphas), epsilons=epsilons, deltas=one.loss.delta(epsilons)
    )
    return Curves(label=one.name, beta=points.beta, delta=points.delta, points=points)


def _noise_in_words(one: ComparedMechanism) -> str:
    """The parameter with its value to six digits, on the side of more noise."""
    rounded = at_least if one.parameter in _INVERSE else at_most
    return f"{one.parameter.replace('_', ' ')} {rounded(Fraction(one.value), _DIGITS)}"


@shown_in_a_notebook("least noise")
def compare_mechanisms(
    names: Sequence[str], words: Mapping[str, str | None], claim: Guarantee | str, base_rate: str | None = None
) -> MechanismComparison:
    """Each mechanism with the least noise that keeps the claim.

    Args:
        names: of the catalogue.
        words: parameters as text; each is given to every mechanism that takes it.
        claim: of any kind, also as text.
        base_rate: at which the risk of each is said; None for none.

    Raises:
        InvalidValue: a name that is not known, no or too many names, a parameter that none of them takes, or a claim
            that cannot be read.
    """
    guarantee = as_guarantee(claim)
    rate = None if base_rate is None else checked_base_rate(base_rate)
    chosen = list(dict.fromkeys(names))
    if not 1 <= len(chosen) <= MOST_MECHANISMS:
        raise InvalidValue("mechanisms", len(chosen), f"from 1 to {MOST_MECHANISMS}", "name those to compare")
    classes = {name: class_named(name) for name in chosen}
    given = {name: text for name, text in words.items() if text is not None}
    scales = {name: _sought(name, classes[name]) for name in chosen}
    for parameter, text in given.items():
        if parameter in scales.values():
            requirement = "left out: it is what is to be found"
            raise InvalidValue(parameter, text, requirement, f"drop {option(parameter)}")
        if not any(takes(name, parameter) for name in chosen):
            requirement = f"taken by one of {', '.join(chosen)}"
            raise InvalidValue(parameter, text, requirement, f"drop {option(parameter)}")
    kept, failed, notes = [], dict[str, str](), list[str]()
    for name in chosen:
        begin_stage(name)
        sought = scales[name]
        if sought is None:
            failed[name] = "it has no amount of noise that could be sought for a claim"
            continue
        if "dim" in given and not takes(name, "dim"):
            failed[name] = f"it does not release {given['dim']} numbers: it takes no --dim"
            continue
        own = {parameter: text for parameter, text in given.items() if takes(name, parameter)}
        if sought in ("sigma", "scale") and takes(name, "sensitivity") and "sensitivity" not in own and "dim" in own:
            own["sensitivity"], said = _longest_record(own["dim"], sought)
            notes.append(f"{name} takes the {said}, of records in [0, 1]^{own['dim']}.")
        try:
            kept.append(_calibrated(name, own, sought, guarantee))
        except KeyboardInterrupt as interrupt:
            if kept:
                found = listed([f"{one.name} with {_noise_in_words(one)}" for one in kept])
                interrupt.add_note(f"so far: {found} keeps {guarantee.describe()}")
            raise
        except DpverdictError as error:
            failed[name] = _why_not(error)
    kept.sort(key=lambda one: one.standard_deviation)
    relations = {one.relation for one in kept}
    if len(relations) > 1:
        said = "; ".join(f"{one.name} {one.relation}" for one in kept)
        notes.append(f"They are not about the same neighbours: {said}.")
    elif relations:
        notes.append(f"Neighbours: {relations.pop()}.")
    bounds = [one.name for one in kept if not one.attained]
    if bounds:
        notes.append(f"Of {', '.join(bounds)} less noise may do: only a bound is known.")
    return MechanismComparison(
        claim=guarantee,
        given=given,
        kept=tuple(kept),
        failed=failed,
        notes=tuple(notes),
        risks={} if rate is None else {one.name: one.loss.risk(rate) for one in kept},
    )


def _why_not(error: DpverdictError) -> str:
    """Why a mechanism is left out, in a sentence."""
    wanted = error.requirement if isinstance(error, InvalidValue) else ""
    if wanted == "one that some scale keeps":
        return "no amount of its noise keeps the claim"
    if wanted == "one that some scale breaks":
        return "it keeps the claim with hardly any noise: there is no least one"
    return " ".join(str(error).split())


def _sought(name: str, mechanism: type[StructuredMechanism]) -> str | None:
    """The parameter of which the least noise is sought; None where a mechanism has none."""
    if mechanism.scaled_by is not None and takes(name, mechanism.scaled_by):
        return mechanism.scaled_by
    return next((parameter for parameter in _INVERSE if takes(name, parameter)), None)


def _longest_record(dim: str, sought: str) -> tuple[str, str]:
    """The norm of a record of ones, rounded up, and in words: l1 for the scale of Laplace noise, else l2."""
    count = whole_number(dim, "dim", at_least=1)
    if sought == "scale":
        return str(count), f"l1 sensitivity {count}"
    return exact_text(Fraction(rounded_up(Real.of(count).sqrt()))), f"l2 sensitivity sqrt({count})"


def _calibrated(name: str, own: Mapping[str, str], sought: str, claim: Guarantee) -> ComparedMechanism:
    """A mechanism with the least noise, and its errors.

    Raises:
        DpverdictError: a parameter that is missing or wrong, or a claim that no noise keeps.
    """
    value_of = _INVERSE.get(sought, float)
    end = time.monotonic() + SECONDS

    def make(scale: float) -> StructuredMechanism:
        if time.monotonic() > end:
            raise InvalidValue("mechanism", name, f"decided in {SECONDS} seconds", "calibrate or audit it alone")
        made = find_mechanism(name, {**own, sought: exact_text(Fraction(value_of(scale)))}).mechanism
        assert isinstance(made, StructuredMechanism)  # a name of the catalogue
        return made

    found: Calibration = calibrate(make, claim, width=WIDTH)
    deviation, errors, releases = _errors(found.mechanism)
    assert found.kept.comparison is not None  # it is certified
    return ComparedMechanism(
        name=name,
        parameter=sought,
        value=value_of(found.scale),
        relation=adjacency_name(found.mechanism.adjacency),
        statement=f"{found.kept.comparison.quantity}: {found.kept.comparison.sides()}",
        loss=found.loss,
        attained=found.attained,
        standard_deviation=deviation,
        errors=errors,
        releases=releases,
    )


def _errors(mechanism: StructuredMechanism) -> tuple[float, tuple[float, float, float], int]:
    """The standard deviation of one number, the mean norms of the error of a release, and of how many releases.

    Raises:
        InvalidValue: a mechanism whose answer without noise is not known.
    """
    if not isinstance(mechanism, StatisticMechanism):
        requirement = "one that adds noise to a statistic"
        raise InvalidValue("mechanism", mechanism.name, requirement, "leave it out: its errors are not comparable")
    dataset = np.zeros((RECORDS, *mechanism.record_shape))
    truth = mechanism.decode(mechanism.embed(dataset)[None])
    size = min(truth.shape[1], getattr(mechanism, "dim", truth.shape[1]))  # a count that is released too is left out
    releases = max(1000, min(MOST_RELEASES, NUMBERS // truth.shape[1]))
    rng = np.random.default_rng(SEED)
    sums, squares, done = np.zeros(3), 0.0, 0
    while done < releases:
        batch = min(10_000, releases - done)
        error = np.abs(mechanism.release_many(dataset, batch, rng) - truth)[:, :size]
        norms = error.sum(axis=1), np.sqrt((error**2).sum(axis=1)), error.max(axis=1)
        sums += [float(norm.sum()) for norm in norms]
        squares += float((error**2).sum())
        done += batch
    means = sums / releases
    return math.sqrt(squares / (releases * size)), (float(means[0]), float(means[1]), float(means[2])), releases
