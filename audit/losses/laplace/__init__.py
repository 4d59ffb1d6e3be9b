"""Vectors of Laplace variables: exact sums, contours and bounds, and the loss that chooses between them."""
