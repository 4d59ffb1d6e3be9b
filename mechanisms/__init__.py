"""What is released, and what it promises."""

if __name__ != "dpverdict.mechanisms":
    raise ImportError(
        "this folder is installed as dpverdict.mechanisms: "
        "write 'import dpverdict.mechanisms' (after: pip install -e .)"
    )

from dpverdict.lazy import defer, public_names

defer("dp_accounting")  # the neighbouring relations are all that is needed of it at once
__getattr__, __dir__, __all__ = public_names(
    __name__,
    __file__,
    former={
        "dpverdict.mechanisms.core.calibration": "universal_error_bound",
        "dpverdict.mechanisms.core.laplace_noise": "DiscreteLaplaceNoise LaplaceNoise",
        "dpverdict.mechanisms.core.mechanism": "FalseClaimWarning",
        "dpverdict.mechanisms.core.neighbours": "parse_adjacency",
        "dpverdict.mechanisms.core.noise": "DiagonalNoise GroupedNoise",
        "dpverdict.mechanisms.core.sensitivity": "Box NormBall ReplacementCube",
        "dpverdict.mechanisms.queries.comparison": (
            "ConstantComparison DensityComparison compare_constants compare_ellipses compare=compare_ellipses"
        ),
        "dpverdict.mechanisms.queries.correlated": (
            "from_embedding to_embedding h=to_embedding h_inverse=from_embedding"
        ),
        "dpverdict.mechanisms.queries.count_ellipse": (
            "EllipseOptimum ellipse_optimum least_ellipse_variance optimum=least_ellipse_variance"
        ),
        "dpverdict.mechanisms.queries.grouped": "GroupedCube OptimalGroupedGaussian",
        "dpverdict.mechanisms.streams.errors": (
            "CounterError binary_error classic_crossover_delta crossover_delta gaussian_constant "
            "gaussian_lower_bound gaussian_tree_error honaker_error laplace_constant "
            "published_crossover_delta smooth_error square_root_constant square_root_error tree_error"
        ),
        "dpverdict.mechanisms.streams.tree": "TreeDigits best_arity Digits=TreeDigits",
    },
)
