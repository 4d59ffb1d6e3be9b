"""Count on Your Elders: Laplace vs Gaussian Noise (Andersson, Pagh and Torkamani, arXiv:2408.07021v2)."""
