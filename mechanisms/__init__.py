"""What is released, and what it promises."""

if __name__ != "dpverdict.mechanisms":
    raise ImportError(
        "this folder is installed as dpverdict.mechanisms: "
        "write 'import dpverdict.mechanisms' (after: pip install -e .)"
    )

from dpverdict.mechanisms import broken as broken
from dpverdict.mechanisms import broken_counting as broken_counting
from dpverdict.mechanisms import broken_ellipses as broken_ellipses
from dpverdict.mechanisms.adjacency import ADD_OR_REMOVE_ONE as ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.adjacency import REPLACE_ONE as REPLACE_ONE
from dpverdict.mechanisms.adjacency import parse_adjacency as parse_adjacency
from dpverdict.mechanisms.box_sensitivity import Box as Box
from dpverdict.mechanisms.correlated_gaussian import CorrelatedGaussian as CorrelatedGaussian
from dpverdict.mechanisms.count_ellipse_mechanism import CountEllipse as CountEllipse
from dpverdict.mechanisms.counter_crossover import classic_crossover_delta as classic_crossover_delta
from dpverdict.mechanisms.counter_crossover import crossover_delta as crossover_delta
from dpverdict.mechanisms.counter_crossover import published_crossover_delta as published_crossover_delta
from dpverdict.mechanisms.counter_errors import CounterError as CounterError
from dpverdict.mechanisms.counter_errors import binary_error as binary_error
from dpverdict.mechanisms.counter_errors import gaussian_lower_bound as gaussian_lower_bound
from dpverdict.mechanisms.counter_errors import gaussian_tree_error as gaussian_tree_error
from dpverdict.mechanisms.counter_errors import honaker_error as honaker_error
from dpverdict.mechanisms.counter_errors import smooth_error as smooth_error
from dpverdict.mechanisms.counter_errors import square_root_error as square_root_error
from dpverdict.mechanisms.counter_errors import tree_error as tree_error
from dpverdict.mechanisms.cube_sensitivity import Cube as Cube
from dpverdict.mechanisms.cube_sensitivity import NormBall as NormBall
from dpverdict.mechanisms.cube_sensitivity import ReplacementCube as ReplacementCube
from dpverdict.mechanisms.discrete_correlated import DiscreteCorrelatedGaussian as DiscreteCorrelatedGaussian
from dpverdict.mechanisms.ellipse_comparison import ConstantComparison as ConstantComparison
from dpverdict.mechanisms.ellipse_comparison import DensityComparison as DensityComparison
from dpverdict.mechanisms.ellipse_comparison import compare as compare
from dpverdict.mechanisms.ellipse_comparison import compare_constants as compare_constants
from dpverdict.mechanisms.ellipse_optimum import EllipseOptimum as EllipseOptimum
from dpverdict.mechanisms.ellipse_optimum import ellipse_optimum as ellipse_optimum
from dpverdict.mechanisms.ellipse_optimum import optimum as optimum
from dpverdict.mechanisms.elliptical_gaussian import EllipticalGaussian as EllipticalGaussian
from dpverdict.mechanisms.embedding import EmbeddedGaussian as EmbeddedGaussian
from dpverdict.mechanisms.embedding import h as h
from dpverdict.mechanisms.embedding import h_inverse as h_inverse
from dpverdict.mechanisms.error_bound import universal_error_bound as universal_error_bound
from dpverdict.mechanisms.factorization_counter import FactorizationCounter as FactorizationCounter
from dpverdict.mechanisms.grouped_gaussian import GroupedGaussian as GroupedGaussian
from dpverdict.mechanisms.grouped_optimum import OptimalGroupedGaussian as OptimalGroupedGaussian
from dpverdict.mechanisms.grouped_sensitivity import GroupedCube as GroupedCube
from dpverdict.mechanisms.guarantee import ApproximateDP as ApproximateDP
from dpverdict.mechanisms.guarantee import GaussianDP as GaussianDP
from dpverdict.mechanisms.guarantee import Guarantee as Guarantee
from dpverdict.mechanisms.guarantee import PureDP as PureDP
from dpverdict.mechanisms.guarantee import RenyiDP as RenyiDP
from dpverdict.mechanisms.guarantee import ZeroConcentratedDP as ZeroConcentratedDP
from dpverdict.mechanisms.guarantee import parse_guarantee as parse_guarantee
from dpverdict.mechanisms.laplace_mechanism import LaplaceMechanism as LaplaceMechanism
from dpverdict.mechanisms.laplace_noise import DiscreteLaplaceNoise as DiscreteLaplaceNoise
from dpverdict.mechanisms.laplace_noise import LaplaceNoise as LaplaceNoise
from dpverdict.mechanisms.mechanism import AdditiveMechanism as AdditiveMechanism
from dpverdict.mechanisms.mechanism import GaussianMechanism as GaussianMechanism
from dpverdict.mechanisms.mechanism import Mechanism as Mechanism
from dpverdict.mechanisms.neighbours import NeighbourPair as NeighbourPair
from dpverdict.mechanisms.noise import DiagonalNoise as DiagonalNoise
from dpverdict.mechanisms.noise import GroupedNoise as GroupedNoise
from dpverdict.mechanisms.noise import Noise as Noise
from dpverdict.mechanisms.noise import SharedNoise as SharedNoise
from dpverdict.mechanisms.rank1_gaussian import FalseClaimWarning as FalseClaimWarning
from dpverdict.mechanisms.rank1_gaussian import Rank1Gaussian as Rank1Gaussian
from dpverdict.mechanisms.sensitivity import SensitivitySpace as SensitivitySpace
from dpverdict.mechanisms.standard_gaussian import StandardGaussian as StandardGaussian
from dpverdict.mechanisms.tree_constants import gaussian_constant as gaussian_constant
from dpverdict.mechanisms.tree_constants import laplace_constant as laplace_constant
from dpverdict.mechanisms.tree_constants import square_root_constant as square_root_constant
from dpverdict.mechanisms.tree_counter import TreeCounter as TreeCounter
from dpverdict.mechanisms.tree_digits import Digits as Digits
from dpverdict.mechanisms.tree_errors import best_arity as best_arity
from dpverdict.mechanisms.vote_ellipse import VoteEllipse as VoteEllipse
