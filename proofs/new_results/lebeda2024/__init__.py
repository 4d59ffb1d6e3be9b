"""Results that go beyond Lebeda (2024): correlated noise, its wrong variants, and the optimum."""
