"""Better Gaussian Mechanism using Correlated Noise (Lebeda, arXiv:2408.06853v3)."""
