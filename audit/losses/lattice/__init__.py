"""Privacy losses on a lattice: two-sided discretisation, powers, and bounds on compositions."""
