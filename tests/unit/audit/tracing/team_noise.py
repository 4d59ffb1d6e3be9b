"""Helpers of the functions in `team_release`."""

# ruff: noqa
# mypy: ignore-errors
import numpy as np

RNG = np.random.default_rng()


def add_laplace(value, sensitivity, epsilon, rng=None):
    generator = RNG if rng is None else rng
    return value + generator.laplace(0.0, sensitivity / epsilon, size=np.shape(value))


class Budget:
    def __init__(self, epsilon):
        self.epsilon = epsilon

    def part(self, share):
        return self.epsilon * share
