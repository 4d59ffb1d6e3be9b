"""An event as a witness: its probability under P and under Q, and what the claim mu=1 allows where mu is 2."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr, ndtri

MU, CLAIMED, THRESHOLD = 2.0, 1.0, 1.0
COLOURS = {"P": "#1f5fcc", "Q": "#b3541e"}

x = np.linspace(-3, 5, 400)
densities, bars = plt.subplots(1, 2, figsize=(8, 2.6), width_ratios=(3, 1))[1]
for name, mean in (("P", MU), ("Q", 0.0)):
    density = np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi)
    densities.plot(x, density, color=COLOURS[name], label=name)
    densities.fill_between(x, density, where=x >= THRESHOLD, color=COLOURS[name], alpha=0.25)
densities.axvline(THRESHOLD, color="gray", linewidth=1)
densities.set(xlabel="release", yticks=[])
densities.legend()
p, q = ndtr(MU - THRESHOLD), ndtr(-THRESHOLD)
bars.bar(["Q(S)", "P(S)"], [q, p], color=[COLOURS["Q"], COLOURS["P"]], alpha=0.7)
bars.axhline(ndtr(ndtri(q) + CLAIMED), color="gray", linestyle="dashed", label="allowed")
bars.set(ylim=(0, 1))
bars.legend(loc="upper left")
