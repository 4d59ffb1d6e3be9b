"""Numbers: the normal law in balls and in float64, exact sums, roots, and exact numbers as text."""
