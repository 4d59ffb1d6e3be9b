"""Three losses: their trade-off functions and their privacy profiles."""

from dpverdict.audit import GaussianLoss, LaplaceLoss

LABELS = ["N(0, 1), N(0.5, 1)", "N(0, 1), N(1, 1)", "Laplace, eps=1"]
GaussianLoss("0.5").plot(GaussianLoss(1), LaplaceLoss([1]), labels=LABELS)
