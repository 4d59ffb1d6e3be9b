"""lattice."""
