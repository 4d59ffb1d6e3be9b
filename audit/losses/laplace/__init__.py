"""laplace."""
