"""discrete_gaussian."""
