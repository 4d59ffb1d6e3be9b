"""The published auditors that are installed, as functions from scores and delta to a lower bound on epsilon."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from empirical_core import ERROR, Case
from scipy import stats

from dpverdict.audit.scores.score import fit_linear_score
from dpverdict.mechanisms.core.guarantees import GaussianDP, PureDP

DELTA_1 = 0.12693673750664395
"""Of 1-GDP at epsilon 1."""
DELTA_20 = 0.114757685742933
"""Of 20 Laplace coordinates of scale 1 whose shifts have square sum 1, at epsilon 1."""
TRUTH = 1.222878992446
"""Epsilon of N(1, 0.9^2) against N(0, 0.9^2) at DELTA_1."""
Bound = Callable[[np.ndarray, np.ndarray, float], float]
"""Scores of both sides and delta to a lower bound on epsilon."""


def peers() -> dict[str, Bound]:
    """Those that are installed."""
    found: dict[str, Bound] = {}
    try:
        from jax_privacy.auditing import CanaryScoreAuditor

        found["jax CP"] = lambda p, q, d: CanaryScoreAuditor(p, q).epsilon_clopper_pearson(ERROR, d)
        found["jax GDP"] = lambda p, q, d: CanaryScoreAuditor(p, q).epsilon_from_gdp(ERROR, d)
    except ImportError:
        pass
    try:
        from privacy_estimates import AttackResults, compute_eps_lo

        def counted(p: np.ndarray, q: np.ndarray, delta: float) -> float:
            half = len(p) // 2
            p_all, q_all = np.sort(p[:half]), np.sort(q[:half])
            thresholds = np.quantile(np.concatenate([p_all, q_all]), np.linspace(0.02, 0.998, 400))
            above, below = half - np.searchsorted(p_all, thresholds), half - np.searchsorted(q_all, thresholds)
            lower = stats.beta.ppf(ERROR / 2, above, half - above + 1)
            upper = stats.beta.ppf(1 - ERROR / 2, below + 1, half - below)
            at = thresholds[np.nanargmax((lower - delta) / upper)]
            tp, fp, n = int((p[half:] >= at).sum()), int((q[half:] >= at).sum()), len(p) - half
            return float(compute_eps_lo(AttackResults(FN=n - tp, FP=fp, TN=n - fp, TP=tp), delta, ERROR, "beta"))

        found["privacy-estimates"] = counted
    except ImportError:
        pass
    return found


def modes() -> dict[str, Bound]:
    """The same, and the other ways in which they may be used: both orders of the pair, a threshold from half."""
    found = peers()
    try:
        from jax_privacy.auditing import CanaryScoreAuditor, Split
    except ImportError:
        return found

    def orders(p: np.ndarray, q: np.ndarray, d: float) -> float:
        return CanaryScoreAuditor(p, q).epsilon_clopper_pearson(ERROR, d, one_sided=False)

    def split(p: np.ndarray, q: np.ndarray, d: float) -> float:
        return CanaryScoreAuditor(p, q).epsilon_clopper_pearson(
            ERROR, d, one_sided=False, threshold_strategy=Split(seed=0)
        )

    return found | {"jax CP": orders, "jax split": split}


def delta_of(case: Case) -> float:
    """At which a peer bounds epsilon; the claim is epsilon = 1 there."""
    return 0.0 if isinstance(case.claim, PureDP) else DELTA_1 if isinstance(case.claim, GaussianDP) else DELTA_20


def bound_of(peer: Bound, case: Case, samples: int, seed: int, delta: float) -> float:
    """What a peer says after so many releases per side."""
    rng = np.random.default_rng(seed)
    p, q = case.draw(1.0, samples, rng), case.draw(0.0, samples, rng)
    if p.shape[1] == 1:
        return peer(p[:, 0], q[:, 0], delta)
    half = samples // 2
    score = fit_linear_score([p[:half]], [q[:half]])
    return peer(score(p[half:]), score(q[half:]), delta)
