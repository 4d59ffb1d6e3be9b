"""What is released, and what it promises."""

if __name__ != "dpverdict.mechanisms":
    raise ImportError(
        "this folder is installed as dpverdict.mechanisms: "
        "write 'import dpverdict.mechanisms' (after: pip install -e .)"
    )

import warnings
from typing import TYPE_CHECKING

from dpverdict.mechanisms import broken as broken
from dpverdict.mechanisms.core.calibration import universal_error_bound as universal_error_bound
from dpverdict.mechanisms.core.guarantees import ApproximateDP as ApproximateDP
from dpverdict.mechanisms.core.guarantees import GaussianDP as GaussianDP
from dpverdict.mechanisms.core.guarantees import Guarantee as Guarantee
from dpverdict.mechanisms.core.guarantees import PureDP as PureDP
from dpverdict.mechanisms.core.guarantees import RenyiDP as RenyiDP
from dpverdict.mechanisms.core.guarantees import ZeroConcentratedDP as ZeroConcentratedDP
from dpverdict.mechanisms.core.guarantees import parse_guarantee as parse_guarantee
from dpverdict.mechanisms.core.laplace_noise import DiscreteLaplaceNoise as DiscreteLaplaceNoise
from dpverdict.mechanisms.core.laplace_noise import LaplaceNoise as LaplaceNoise
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism as AdditiveMechanism
from dpverdict.mechanisms.core.mechanism import FalseClaimWarning as FalseClaimWarning
from dpverdict.mechanisms.core.mechanism import GaussianMechanism as GaussianMechanism
from dpverdict.mechanisms.core.mechanism import Mechanism as Mechanism
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE as ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE as REPLACE_ONE
from dpverdict.mechanisms.core.neighbours import NeighbourPair as NeighbourPair
from dpverdict.mechanisms.core.neighbours import ObjectPair as ObjectPair
from dpverdict.mechanisms.core.neighbours import parse_adjacency as parse_adjacency
from dpverdict.mechanisms.core.noise import DiagonalNoise as DiagonalNoise
from dpverdict.mechanisms.core.noise import GroupedNoise as GroupedNoise
from dpverdict.mechanisms.core.noise import Noise as Noise
from dpverdict.mechanisms.core.noise import SharedNoise as SharedNoise
from dpverdict.mechanisms.core.sensitivity import Box as Box
from dpverdict.mechanisms.core.sensitivity import Cube as Cube
from dpverdict.mechanisms.core.sensitivity import NormBall as NormBall
from dpverdict.mechanisms.core.sensitivity import ReplacementCube as ReplacementCube
from dpverdict.mechanisms.core.sensitivity import SensitivitySpace as SensitivitySpace
from dpverdict.mechanisms.finite.above_threshold import AboveThreshold as AboveThreshold
from dpverdict.mechanisms.finite.exponential import ExponentialMechanism as ExponentialMechanism
from dpverdict.mechanisms.finite.geometric import GeometricMechanism as GeometricMechanism
from dpverdict.mechanisms.finite.noisy_max import ReportNoisyMax as ReportNoisyMax
from dpverdict.mechanisms.finite.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from dpverdict.mechanisms.finite.randomized_response import RandomizedResponse as RandomizedResponse
from dpverdict.mechanisms.queries.comparison import ConstantComparison as ConstantComparison
from dpverdict.mechanisms.queries.comparison import DensityComparison as DensityComparison
from dpverdict.mechanisms.queries.comparison import compare_constants as compare_constants
from dpverdict.mechanisms.queries.comparison import compare_ellipses as compare_ellipses
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian as CorrelatedGaussian
from dpverdict.mechanisms.queries.correlated import EmbeddedGaussian as EmbeddedGaussian
from dpverdict.mechanisms.queries.correlated import from_embedding as from_embedding
from dpverdict.mechanisms.queries.correlated import to_embedding as to_embedding
from dpverdict.mechanisms.queries.count_ellipse import CountEllipse as CountEllipse
from dpverdict.mechanisms.queries.count_ellipse import EllipseOptimum as EllipseOptimum
from dpverdict.mechanisms.queries.count_ellipse import ellipse_optimum as ellipse_optimum
from dpverdict.mechanisms.queries.count_ellipse import least_ellipse_variance as least_ellipse_variance
from dpverdict.mechanisms.queries.discrete import DiscreteCorrelatedGaussian as DiscreteCorrelatedGaussian
from dpverdict.mechanisms.queries.elliptical import EllipticalGaussian as EllipticalGaussian
from dpverdict.mechanisms.queries.grouped import GroupedCube as GroupedCube
from dpverdict.mechanisms.queries.grouped import GroupedGaussian as GroupedGaussian
from dpverdict.mechanisms.queries.grouped import OptimalGroupedGaussian as OptimalGroupedGaussian
from dpverdict.mechanisms.queries.laplace import LaplaceMechanism as LaplaceMechanism
from dpverdict.mechanisms.queries.rank1 import Rank1Gaussian as Rank1Gaussian
from dpverdict.mechanisms.queries.standard import StandardGaussian as StandardGaussian
from dpverdict.mechanisms.queries.vote_ellipse import VoteEllipse as VoteEllipse
from dpverdict.mechanisms.streams.errors import CounterError as CounterError
from dpverdict.mechanisms.streams.errors import binary_error as binary_error
from dpverdict.mechanisms.streams.errors import classic_crossover_delta as classic_crossover_delta
from dpverdict.mechanisms.streams.errors import crossover_delta as crossover_delta
from dpverdict.mechanisms.streams.errors import gaussian_constant as gaussian_constant
from dpverdict.mechanisms.streams.errors import gaussian_lower_bound as gaussian_lower_bound
from dpverdict.mechanisms.streams.errors import gaussian_tree_error as gaussian_tree_error
from dpverdict.mechanisms.streams.errors import honaker_error as honaker_error
from dpverdict.mechanisms.streams.errors import laplace_constant as laplace_constant
from dpverdict.mechanisms.streams.errors import published_crossover_delta as published_crossover_delta
from dpverdict.mechanisms.streams.errors import smooth_error as smooth_error
from dpverdict.mechanisms.streams.errors import square_root_constant as square_root_constant
from dpverdict.mechanisms.streams.errors import square_root_error as square_root_error
from dpverdict.mechanisms.streams.errors import tree_error as tree_error
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter as FactorizationCounter
from dpverdict.mechanisms.streams.tree import TreeDigits as TreeDigits
from dpverdict.mechanisms.streams.tree import best_arity as best_arity
from dpverdict.mechanisms.streams.tree_counter import TreeCounter as TreeCounter
from dpverdict.mechanisms.training.dp_ftrl import DPFTRL as DPFTRL
from dpverdict.mechanisms.training.dp_sgd import DPSGD as DPSGD

__all__ = [
    # what is promised
    "Guarantee",
    "GaussianDP",
    "PureDP",
    "ApproximateDP",
    "ZeroConcentratedDP",
    "RenyiDP",
    "parse_guarantee",
    # between which datasets
    "ADD_OR_REMOVE_ONE",
    "REPLACE_ONE",
    "NeighbourPair",
    "parse_adjacency",
    # what a mechanism states: its noise and its sensitivity space
    "Mechanism",
    "AdditiveMechanism",
    "GaussianMechanism",
    "SensitivitySpace",
    "Cube",
    "ReplacementCube",
    "GroupedCube",
    "Box",
    "NormBall",
    "Noise",
    "SharedNoise",
    "GroupedNoise",
    "DiagonalNoise",
    "LaplaceNoise",
    "DiscreteLaplaceNoise",
    # sums of records, released once
    "StandardGaussian",
    "CorrelatedGaussian",
    "EmbeddedGaussian",
    "GroupedGaussian",
    "EllipticalGaussian",
    "CountEllipse",
    "VoteEllipse",
    "DiscreteCorrelatedGaussian",
    "LaplaceMechanism",
    "Rank1Gaussian",
    # responses, counts, and the selection of one option among many
    "RandomizedResponse",
    "GeometricMechanism",
    "ExponentialMechanism",
    "PermuteAndFlip",
    "ReportNoisyMax",
    "AboveThreshold",
    # counts under continual observation
    "TreeCounter",
    "FactorizationCounter",
    # training
    "DPSGD",
    "DPFTRL",
    # the embedding of Algorithm 1, comparisons, and known-wrong variants
    "to_embedding",
    "compare_ellipses",
    "least_ellipse_variance",
    "broken",
    "ObjectPair",
]
"""What the pages use; every other name imported above can be imported from here as well."""


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # or type checkers would take every misspelt name for one of these
    _FORMER = {
        "h": "to_embedding",
        "h_inverse": "from_embedding",
        "optimum": "least_ellipse_variance",
        "compare": "compare_ellipses",
        "Digits": "TreeDigits",
    }

    def __getattr__(name: str) -> object:
        """What went by another name until version 0.1, with a warning; for one release."""
        if name not in _FORMER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        warnings.warn(f"dpverdict.mechanisms.{name} is now {_FORMER[name]}", DeprecationWarning, stacklevel=2)
        return globals()[_FORMER[name]]
