"""Gaussian and Laplace noise together, by contour integrals of the moment generating function."""
