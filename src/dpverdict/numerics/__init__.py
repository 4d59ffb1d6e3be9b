"""numbers: the normal law in balls and float64, exact sums, roots."""
