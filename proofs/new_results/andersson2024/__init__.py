"""Results that go beyond Andersson et al. (2024): counting trees, and Laplace noise for the l2 sensitivity."""
