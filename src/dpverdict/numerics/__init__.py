"""Numbers: the normal law in balls and in float64, exact sums, roots, exact numbers as text, and files of them."""
