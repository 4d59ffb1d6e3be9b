"""The public names of dpverdict.audit, by subject; each is imported when it is first used."""

# what is known exactly: the worst pair, the decision, and its evidence
from dpverdict.audit.tracing.decide import certify as certify
from dpverdict.audit.exact.worst_case import worst_case as worst_case
from dpverdict.audit.exact.worst_case import neighbour_loss as neighbour_loss
from dpverdict.audit.exact.verdict import Verdict as Verdict
from dpverdict.audit.exact.verdict import Status as Status
from dpverdict.audit.exact.verdict import Certificate as Certificate
from dpverdict.audit.exact.verdict import Witness as Witness
from dpverdict.audit.exact.worst_case import WorstCase as WorstCase

# the noise that a claim needs, what was spent, and one mu for a whole curve
from dpverdict.audit.exact.calibrate import calibrate as calibrate
from dpverdict.audit.exact.spending import Odometer as Odometer
from dpverdict.audit.exact.spending import held_to as held_to
from dpverdict.audit.exact.gdp import gdp_mu as gdp_mu
from dpverdict.audit.exact.gdp import gdp_regret as gdp_regret

# the privacy loss of one pair: its curves, certified and in float64, and their composition
from dpverdict.audit.losses.base import PrivacyLoss as PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss as GaussianLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss as LaplaceLoss
from dpverdict.audit.losses.spherical.loss import SphericalLoss as SphericalLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss as FiniteLoss
from dpverdict.audit.losses.finite.bounded_range import bounded_range as bounded_range
from dpverdict.audit.losses.composition import compose as compose
from dpverdict.audit.sampling.poisson import poisson_sampled as poisson_sampled
from dpverdict.audit.sampling.allocation import random_allocation as random_allocation
from dpverdict.audit.sampling.shuffled import shuffled_batches as shuffled_batches
from dpverdict.audit.losses.lattice.custom import additive_noise_loss as additive_noise_loss
from dpverdict.audit.losses.lattice.custom import loss_from_cdfs as loss_from_cdfs
from dpverdict.balls import Enclosure as Enclosure

# exchange with dp_accounting
from dpverdict.audit.losses.lattice.exchange import to_pld as to_pld
from dpverdict.audit.losses.finite.pld import from_pld as from_pld
from dpverdict.audit.losses.domains import Direction as Direction
from dpverdict.audit.losses.finite.pld import NegativeMass as NegativeMass
from dpverdict.audit.exact.events import loss_from_event as loss_from_event

# what releases show: distinguishing tests, and the search for what to test
from dpverdict.audit.distinguishing.fixed_size import distinguish as distinguish
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially as distinguish_sequentially
from dpverdict.audit.distinguishing.recorded_scores import distinguish_scores as distinguish_scores
from dpverdict.audit.distinguishing.one_run import distinguish_one_run as distinguish_one_run
from dpverdict.audit.trials.run import batched as batched
from dpverdict.audit.trials.outcomes.observed import observed as observed
from dpverdict.audit.distinguishing.search.record_search import search_records as search_records
from dpverdict.audit.distinguishing.search.record_search import Column as Column
from dpverdict.audit.implementation.search.given_table import find_neighbours as find_neighbours
from dpverdict.audit.distinguishing.low_bits import find_float_leak as find_float_leak
from dpverdict.audit.distinguishing.result import DistinguishingTest as DistinguishingTest

# what a look inside an implementation shows
from dpverdict.audit.implementation.grey_box import grey_box_checks as grey_box_checks

# an audit from request to report
from dpverdict.audit.runs.audits import audit_mechanism as audit_mechanism
from dpverdict.audit.runs.audits import audit_callable as audit_callable
from dpverdict.audit.runs.audits import Sampling as Sampling
from dpverdict.audit.reports.report import Report as Report

# witnesses, and their check on fresh releases
from dpverdict.audit.distinguishing.witness_document import read_witness as read_witness
from dpverdict.audit.distinguishing.witness_document import write_witness as write_witness
from dpverdict.audit.runs.replay import replay as replay
