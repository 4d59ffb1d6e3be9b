"""What is true of a mechanism: exact curves, worst neighbours, distinguishing tests, verdicts and reports."""

if __name__ != "dpverdict.audit":
    raise ImportError(
        "this folder is installed as dpverdict.audit: write 'import dpverdict.audit' (after: pip install -e .)"
    )

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dpverdict.audit.distinguishing.fixed_size import distinguish as distinguish
    from dpverdict.audit.distinguishing.low_bits import FloatLeak as FloatLeak
    from dpverdict.audit.distinguishing.low_bits import find_float_leak as find_float_leak
    from dpverdict.audit.distinguishing.one_run import distinguish_one_run as distinguish_one_run
    from dpverdict.audit.distinguishing.recorded import distinguish_scores as distinguish_scores
    from dpverdict.audit.distinguishing.result import DistinguishingTest as DistinguishingTest
    from dpverdict.audit.distinguishing.search.neighbour_search import NeighbourSearch as NeighbourSearch
    from dpverdict.audit.distinguishing.search.neighbour_search import search_neighbours as search_neighbours
    from dpverdict.audit.distinguishing.search.record_search import Column as Column
    from dpverdict.audit.distinguishing.search.record_search import search_records as search_records
    from dpverdict.audit.distinguishing.sequential import SequentialTest as SequentialTest
    from dpverdict.audit.distinguishing.sequential import distinguish_sequentially as distinguish_sequentially
    from dpverdict.audit.distinguishing.witness_document import read_witness as read_witness
    from dpverdict.audit.distinguishing.witness_document import write_witness as write_witness
    from dpverdict.audit.exact.calibrate import Calibration as Calibration
    from dpverdict.audit.exact.calibrate import calibrate as calibrate
    from dpverdict.audit.exact.calibrate import calibrate_rank1 as calibrate_rank1
    from dpverdict.audit.exact.calibrate import exact_laplace as exact_laplace
    from dpverdict.audit.exact.calibrate import exact_laplace_scale as exact_laplace_scale
    from dpverdict.audit.exact.calibrate import honest_scale as honest_scale
    from dpverdict.audit.exact.decide import certify as certify
    from dpverdict.audit.exact.events import loss_from_event as loss_from_event
    from dpverdict.audit.exact.exchange import ProfileClaim as ProfileClaim
    from dpverdict.audit.exact.exchange import dp_event as dp_event
    from dpverdict.audit.exact.exchange import loss_event as loss_event
    from dpverdict.audit.exact.gdp import gdp_mu as gdp_mu
    from dpverdict.audit.exact.gdp import gdp_regret as gdp_regret
    from dpverdict.audit.exact.spending import Account as Account
    from dpverdict.audit.exact.spending import Odometer as Odometer
    from dpverdict.audit.exact.spending import held_to as held_to
    from dpverdict.audit.exact.verdict import Certificate as Certificate
    from dpverdict.audit.exact.verdict import Status as Status
    from dpverdict.audit.exact.verdict import Verdict as Verdict
    from dpverdict.audit.exact.verdict import Witness as Witness
    from dpverdict.audit.exact.worst_case import WorstCase as WorstCase
    from dpverdict.audit.exact.worst_case import neighbour_loss as neighbour_loss
    from dpverdict.audit.exact.worst_case import worst_case as worst_case
    from dpverdict.audit.implementation.embedding import EmbeddingCheck as EmbeddingCheck
    from dpverdict.audit.implementation.embedding import check_embedding as check_embedding
    from dpverdict.audit.implementation.grey_box import GreyBoxFinding as GreyBoxFinding
    from dpverdict.audit.implementation.grey_box import grey_box_checks as grey_box_checks
    from dpverdict.audit.losses.base import PrivacyLoss as PrivacyLoss
    from dpverdict.audit.losses.base import TwoOrders as TwoOrders
    from dpverdict.audit.losses.bounded import BoundedLoss as BoundedLoss
    from dpverdict.audit.losses.closed_form import DisjointLoss as DisjointLoss
    from dpverdict.audit.losses.closed_form import GaussianLoss as GaussianLoss
    from dpverdict.audit.losses.closed_form import RandomisedResponseLoss as RandomisedResponseLoss
    from dpverdict.audit.losses.closed_form import ResponseLoss as ResponseLoss
    from dpverdict.audit.losses.composition import compose as compose
    from dpverdict.audit.losses.composition import explain_composition as explain_composition
    from dpverdict.audit.losses.contour.loss import ComposedLoss as ComposedLoss
    from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss as DiscreteGaussianLoss
    from dpverdict.audit.losses.discrete_gaussian.loss import LatticeLoss as LatticeLoss
    from dpverdict.audit.losses.finite.bounded_range import BoundedRangeLoss as BoundedRangeLoss
    from dpverdict.audit.losses.finite.bounded_range import bounded_range as bounded_range
    from dpverdict.audit.losses.finite.loss import FiniteLoss as FiniteLoss
    from dpverdict.audit.losses.finite.pld import Direction as Direction
    from dpverdict.audit.losses.finite.pld import NegativeMass as NegativeMass
    from dpverdict.audit.losses.finite.pld import from_pld as from_pld
    from dpverdict.audit.losses.laplace.loss import LaplaceLoss as LaplaceLoss
    from dpverdict.audit.losses.lattice.custom import CustomLoss as CustomLoss
    from dpverdict.audit.losses.lattice.custom import additive_noise_loss as additive_noise_loss
    from dpverdict.audit.losses.lattice.custom import loss_from_cdfs as loss_from_cdfs
    from dpverdict.audit.losses.lattice.exchange import to_pld as to_pld
    from dpverdict.audit.losses.spherical.events import apollonius_event as apollonius_event
    from dpverdict.audit.losses.spherical.events import ball_event as ball_event
    from dpverdict.audit.losses.spherical.events import half_space_event as half_space_event
    from dpverdict.audit.losses.spherical.isotropic import IsotropicGaussian as IsotropicGaussian
    from dpverdict.audit.losses.spherical.isotropic import IsotropicLaplace as IsotropicLaplace
    from dpverdict.audit.losses.spherical.loss import SphericalLoss as SphericalLoss
    from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian as RandomDirectionGaussian
    from dpverdict.audit.reports.report import Report as Report
    from dpverdict.audit.runs.audits import Sampling as Sampling
    from dpverdict.audit.runs.audits import audit_callable as audit_callable
    from dpverdict.audit.runs.audits import audit_mechanism as audit_mechanism
    from dpverdict.audit.runs.replay import Replay as Replay
    from dpverdict.audit.runs.replay import replay as replay
    from dpverdict.audit.runs.request import report_witness as report_witness
    from dpverdict.audit.sampling.allocation import random_allocation as random_allocation
    from dpverdict.audit.sampling.poisson import poisson_sampled as poisson_sampled
    from dpverdict.audit.sampling.shuffled import ShuffledBatches as ShuffledBatches
    from dpverdict.audit.sampling.shuffled import shuffled_batches as shuffled_batches
    from dpverdict.audit.trials.outcomes.observed import observed as observed
    from dpverdict.audit.trials.run import batched as batched
    from dpverdict.balls import Enclosure as Enclosure

_WHERE: Final = {
    "audit.distinguishing.fixed_size": "distinguish",
    "audit.distinguishing.low_bits": "FloatLeak find_float_leak",
    "audit.distinguishing.one_run": "distinguish_one_run",
    "audit.distinguishing.recorded": "distinguish_scores",
    "audit.distinguishing.result": "DistinguishingTest",
    "audit.distinguishing.search.neighbour_search": "NeighbourSearch search_neighbours",
    "audit.distinguishing.search.record_search": "Column search_records",
    "audit.distinguishing.sequential": "SequentialTest distinguish_sequentially",
    "audit.distinguishing.witness_document": "read_witness write_witness",
    "audit.exact.calibrate": "Calibration calibrate calibrate_rank1 exact_laplace exact_laplace_scale honest_scale",
    "audit.exact.decide": "certify",
    "audit.exact.events": "loss_from_event",
    "audit.exact.exchange": "ProfileClaim dp_event loss_event",
    "audit.exact.gdp": "gdp_mu gdp_regret",
    "audit.exact.spending": "Account Odometer held_to",
    "audit.exact.verdict": "Certificate Status Verdict Witness",
    "audit.exact.worst_case": "WorstCase neighbour_loss worst_case",
    "audit.implementation.embedding": "EmbeddingCheck check_embedding",
    "audit.implementation.grey_box": "GreyBoxFinding grey_box_checks",
    "audit.losses.base": "PrivacyLoss TwoOrders",
    "audit.losses.bounded": "BoundedLoss",
    "audit.losses.closed_form": "DisjointLoss GaussianLoss RandomisedResponseLoss ResponseLoss",
    "audit.losses.composition": "compose explain_composition",
    "audit.losses.contour.loss": "ComposedLoss",
    "audit.losses.discrete_gaussian.loss": "DiscreteGaussianLoss LatticeLoss",
    "audit.losses.finite.bounded_range": "BoundedRangeLoss bounded_range",
    "audit.losses.finite.loss": "FiniteLoss",
    "audit.losses.finite.pld": "Direction NegativeMass from_pld",
    "audit.losses.laplace.loss": "LaplaceLoss",
    "audit.losses.lattice.custom": "CustomLoss additive_noise_loss loss_from_cdfs",
    "audit.losses.lattice.exchange": "to_pld",
    "audit.losses.spherical.events": "apollonius_event ball_event half_space_event",
    "audit.losses.spherical.isotropic": "IsotropicGaussian IsotropicLaplace",
    "audit.losses.spherical.loss": "SphericalLoss",
    "audit.losses.spherical.random_direction": "RandomDirectionGaussian",
    "audit.reports.report": "Report",
    "audit.runs.audits": "Sampling audit_callable audit_mechanism",
    "audit.runs.replay": "Replay replay",
    "audit.runs.request": "report_witness",
    "audit.sampling.allocation": "random_allocation",
    "audit.sampling.poisson": "poisson_sampled",
    "audit.sampling.shuffled": "ShuffledBatches shuffled_batches",
    "audit.trials.outcomes.observed": "observed",
    "audit.trials.run": "batched",
    "balls": "Enclosure",
}
"""The module of every public name, below ``dpverdict``: each is imported when a name of it is first asked for."""

_MODULES: Final = {name: f"dpverdict.{module}" for module, names in _WHERE.items() for name in names.split()}

if not TYPE_CHECKING:  # a type checker sees the imports above, and no other name

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        importlib.import_module("dpverdict.audit.losses.composition")  # what `loss * 30` takes
        found = getattr(importlib.import_module(_MODULES[name]), name)
        globals()[name] = found
        return found


__all__ = [
    # what is known exactly: the worst pair, the decision, and its evidence
    "certify",
    "worst_case",
    "neighbour_loss",
    "Verdict",
    "Status",
    "Certificate",
    "Witness",
    "WorstCase",
    # the noise that a claim needs, what was spent, and one mu for a whole curve
    "calibrate",
    "Odometer",
    "held_to",
    "gdp_mu",
    "gdp_regret",
    # the privacy loss of one pair: its curves, certified and in float64, and their composition
    "PrivacyLoss",
    "GaussianLoss",
    "LaplaceLoss",
    "LatticeLoss",
    "SphericalLoss",
    "FiniteLoss",
    "bounded_range",
    "compose",
    "poisson_sampled",
    "random_allocation",
    "shuffled_batches",
    "additive_noise_loss",
    "loss_from_cdfs",
    "Enclosure",
    # exchange with dp_accounting
    "to_pld",
    "from_pld",
    "Direction",
    "NegativeMass",
    "loss_from_event",
    "dp_event",
    "loss_event",
    # what releases show: distinguishing tests, and the search for what to test
    "distinguish",
    "distinguish_sequentially",
    "distinguish_scores",
    "distinguish_one_run",
    "batched",
    "observed",
    "search_neighbours",
    "search_records",
    "Column",
    "find_float_leak",
    "DistinguishingTest",
    "SequentialTest",
    # what a look inside an implementation shows
    "check_embedding",
    "grey_box_checks",
    # an audit from request to report
    "audit_mechanism",
    "audit_callable",
    "Sampling",
    "Report",
    # witnesses, and their check on fresh releases
    "read_witness",
    "write_witness",
    "report_witness",
    "replay",
]
"""What the pages use; every other name imported above can be imported from here as well."""


def __dir__() -> list[str]:
    return sorted(__all__)
