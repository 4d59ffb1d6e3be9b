"""Exact curves, worst neighbours, distinguishing tests, verdicts and reports."""

if __name__ != "dpverdict.audit":
    raise ImportError(
        "this folder is installed as dpverdict.audit: write 'import dpverdict.audit' (after: pip install -e .)"
    )

from dpverdict.audit.bounded_loss import BoundedLoss as BoundedLoss
from dpverdict.audit.canary_scores import distinguish_scores as distinguish_scores
from dpverdict.audit.certify import certify as certify
from dpverdict.audit.composed_loss import ComposedLoss as ComposedLoss
from dpverdict.audit.composition import compose as compose
from dpverdict.audit.composition import explain_composition as explain_composition
from dpverdict.audit.custom_noise import CustomLoss as CustomLoss
from dpverdict.audit.custom_noise import additive_noise_loss as additive_noise_loss
from dpverdict.audit.custom_noise import loss_from_cdfs as loss_from_cdfs
from dpverdict.audit.disjoint_loss import DisjointLoss as DisjointLoss
from dpverdict.audit.distinguish import distinguish as distinguish
from dpverdict.audit.distinguishing_test import DistinguishingTest as DistinguishingTest
from dpverdict.audit.dp_events import dp_event as dp_event
from dpverdict.audit.dp_events import loss_event as loss_event
from dpverdict.audit.embedding_check import EmbeddingCheck as EmbeddingCheck
from dpverdict.audit.embedding_check import check_embedding as check_embedding
from dpverdict.audit.float_leak import FloatLeak as FloatLeak
from dpverdict.audit.float_leak import find_float_leak as find_float_leak
from dpverdict.audit.gaussian_loss import GaussianLoss as GaussianLoss
from dpverdict.audit.grey_box import GreyBoxFinding as GreyBoxFinding
from dpverdict.audit.grey_box import grey_box_checks as grey_box_checks
from dpverdict.audit.laplace_loss import LaplaceLoss as LaplaceLoss
from dpverdict.audit.laplace_scale import exact_laplace as exact_laplace
from dpverdict.audit.laplace_scale import exact_laplace_scale as exact_laplace_scale
from dpverdict.audit.lattice_loss import LatticeLoss as LatticeLoss
from dpverdict.audit.neighbour_search import NeighbourSearch as NeighbourSearch
from dpverdict.audit.neighbour_search import search_neighbours as search_neighbours
from dpverdict.audit.one_run import distinguish_one_run as distinguish_one_run
from dpverdict.audit.pld_exchange import from_pld as from_pld
from dpverdict.audit.pld_exchange import to_pld as to_pld
from dpverdict.audit.privacy_loss import PrivacyLoss as PrivacyLoss
from dpverdict.audit.profile_claim import ProfileClaim as ProfileClaim
from dpverdict.audit.radial_gaussian import IsotropicGaussian as IsotropicGaussian
from dpverdict.audit.radial_laplace import IsotropicLaplace as IsotropicLaplace
from dpverdict.audit.radial_random_direction import RandomDirectionGaussian as RandomDirectionGaussian
from dpverdict.audit.rank1_calibration import calibrate_rank1 as calibrate_rank1
from dpverdict.audit.rank1_calibration import honest_scale as honest_scale
from dpverdict.audit.replay import Replay as Replay
from dpverdict.audit.replay import replay as replay
from dpverdict.audit.report import Report as Report
from dpverdict.audit.response_loss import ResponseLoss as ResponseLoss
from dpverdict.audit.run import Sampling as Sampling
from dpverdict.audit.run import audit_callable as audit_callable
from dpverdict.audit.run import audit_mechanism as audit_mechanism
from dpverdict.audit.sequential import SequentialTest as SequentialTest
from dpverdict.audit.sequential import distinguish_sequentially as distinguish_sequentially
from dpverdict.audit.spherical_events import apollonius_event as apollonius_event
from dpverdict.audit.spherical_events import ball_event as ball_event
from dpverdict.audit.spherical_events import half_space_event as half_space_event
from dpverdict.audit.spherical_loss import SphericalLoss as SphericalLoss
from dpverdict.audit.verdict import Certificate as Certificate
from dpverdict.audit.verdict import Status as Status
from dpverdict.audit.verdict import Verdict as Verdict
from dpverdict.audit.verdict import Witness as Witness
from dpverdict.audit.witness_file import read_witness as read_witness
from dpverdict.audit.witness_file import report_witness as report_witness
from dpverdict.audit.witness_file import write_witness as write_witness
from dpverdict.audit.worst_case import WorstCase as WorstCase
from dpverdict.audit.worst_case import neighbour_loss as neighbour_loss
from dpverdict.audit.worst_case import worst_case as worst_case
from dpverdict.balls import Enclosure as Enclosure
