"""What is true of a mechanism: exact curves, worst neighbours, distinguishing tests, verdicts and reports."""

if __name__ != "dpverdict.audit":
    raise ImportError(
        "this folder is installed as dpverdict.audit: write 'import dpverdict.audit' (after: pip install -e .)"
    )

from dpverdict.lazy import defer, public_names

defer("dp_accounting")  # the neighbouring relations are all that is needed of it at once
__getattr__, __dir__, __all__ = public_names(
    __name__,
    __file__,
    first=(
        "dpverdict.audit.losses.composition",  # what `loss * 30` takes
        "dpverdict.mechanisms.core.guarantees",  # what `loss.plot("mu=1")` takes
    ),
    former={
        "dpverdict.audit.distinguishing.low_bits": "FloatLeak",
        "dpverdict.audit.distinguishing.search.neighbour_search": "NeighbourSearch search_neighbours",
        "dpverdict.audit.distinguishing.sequential": "SequentialTest",
        "dpverdict.audit.exact.calibrate": "Calibration",
        "dpverdict.audit.exact.exchange": "ProfileClaim dp_event loss_event",
        "dpverdict.audit.exact.spending": "Account",
        "dpverdict.audit.implementation.embedding": "EmbeddingCheck check_embedding",
        "dpverdict.audit.implementation.grey_box": "GreyBoxFinding",
        "dpverdict.audit.losses.base": "AddRemoveLoss TwoOrders=AddRemoveLoss",
        "dpverdict.audit.losses.bounded": "BoundedLoss",
        "dpverdict.audit.losses.closed_form": "DisjointLoss RandomisedResponseLoss ResponseLoss",
        "dpverdict.audit.losses.composition": "explain_composition",
        "dpverdict.audit.losses.contour.loss": "ComposedLoss",
        "dpverdict.audit.losses.discrete_gaussian.loss": "DiscreteGaussianLoss LatticeLoss=DiscreteGaussianLoss",
        "dpverdict.audit.losses.finite.bounded_range": "BoundedRangeLoss",
        "dpverdict.audit.losses.lattice.custom": "CustomLoss",
        "dpverdict.audit.losses.spherical.events": "apollonius_event ball_event half_space_event",
        "dpverdict.audit.losses.spherical.isotropic": "IsotropicGaussian IsotropicLaplace",
        "dpverdict.audit.losses.spherical.random_direction": "RandomDirectionGaussian",
        "dpverdict.audit.runs.replay": "Replay",
        "dpverdict.audit.runs.request": "report_witness",
        "dpverdict.audit.sampling.shuffled": "ShuffledBatches",
        "dpverdict.mechanisms.queries.laplace": "exact_laplace exact_laplace_scale",
        "dpverdict.mechanisms.queries.rank1_scale": "calibrate_rank1 honest_scale",
    },
)
