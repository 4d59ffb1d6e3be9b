"""Less is More: Revisiting the Gaussian Mechanism for Differential Privacy (Ji and Li, USENIX Security 2024,
arXiv:2306.02256v3)."""
