"""The public names of dpverdict.mechanisms, by subject; each is imported when it is first used."""

# what is promised
from dpverdict.mechanisms.core.guarantees import Guarantee as Guarantee
from dpverdict.mechanisms.core.guarantees import GaussianDP as GaussianDP
from dpverdict.mechanisms.core.guarantees import PureDP as PureDP
from dpverdict.mechanisms.core.guarantees import ApproximateDP as ApproximateDP
from dpverdict.mechanisms.core.guarantees import ZeroConcentratedDP as ZeroConcentratedDP
from dpverdict.mechanisms.core.guarantees import RenyiDP as RenyiDP
from dpverdict.mechanisms.core.guarantees import parse_guarantee as parse_guarantee

# between which datasets
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE as ADD_OR_REMOVE_ONE
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE as REPLACE_ONE
from dpverdict.mechanisms.core.neighbours import NeighbourPair as NeighbourPair

# what a mechanism states: its noise and its sensitivity space
from dpverdict.mechanisms.core.mechanism import Mechanism as Mechanism
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism as AdditiveMechanism
from dpverdict.mechanisms.core.mechanism import GaussianMechanism as GaussianMechanism
from dpverdict.mechanisms.core.sensitivity import SensitivitySpace as SensitivitySpace
from dpverdict.mechanisms.core.sensitivity import Cube as Cube
from dpverdict.mechanisms.core.noise import Noise as Noise
from dpverdict.mechanisms.core.noise import SharedNoise as SharedNoise

# sums of records, released once
from dpverdict.mechanisms.queries.standard import StandardGaussian as StandardGaussian
from dpverdict.mechanisms.queries.correlated import CorrelatedGaussian as CorrelatedGaussian
from dpverdict.mechanisms.queries.correlated import EmbeddedGaussian as EmbeddedGaussian
from dpverdict.mechanisms.queries.grouped import GroupedGaussian as GroupedGaussian
from dpverdict.mechanisms.queries.elliptical import EllipticalGaussian as EllipticalGaussian
from dpverdict.mechanisms.queries.count_ellipse import CountEllipse as CountEllipse
from dpverdict.mechanisms.queries.vote_ellipse import VoteEllipse as VoteEllipse
from dpverdict.mechanisms.queries.discrete import DiscreteCorrelatedGaussian as DiscreteCorrelatedGaussian
from dpverdict.mechanisms.queries.laplace import LaplaceMechanism as LaplaceMechanism
from dpverdict.mechanisms.queries.rank1 import Rank1Gaussian as Rank1Gaussian

# responses, counts, and the selection of one option among many
from dpverdict.mechanisms.finite.randomized_response import RandomizedResponse as RandomizedResponse
from dpverdict.mechanisms.finite.geometric import GeometricMechanism as GeometricMechanism
from dpverdict.mechanisms.finite.exponential import ExponentialMechanism as ExponentialMechanism
from dpverdict.mechanisms.finite.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from dpverdict.mechanisms.finite.noisy_max import ReportNoisyMax as ReportNoisyMax
from dpverdict.mechanisms.finite.above_threshold import AboveThreshold as AboveThreshold

# counts under continual observation
from dpverdict.mechanisms.streams.tree_counter import TreeCounter as TreeCounter
from dpverdict.mechanisms.streams.factorization_counter import FactorizationCounter as FactorizationCounter

# training
from dpverdict.mechanisms.training.dp_sgd import DPSGD as DPSGD
from dpverdict.mechanisms.training.dp_ftrl import DPFTRL as DPFTRL
from dpverdict.mechanisms.training.matrix import MatrixMechanism as MatrixMechanism

# the embedding of Algorithm 1, comparisons, and known-wrong variants
from dpverdict.mechanisms import broken as broken
from dpverdict.mechanisms.core.neighbours import ObjectPair as ObjectPair
