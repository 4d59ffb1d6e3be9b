"""The discrete Gaussian: the exact law of its loss, and the curves of its products."""
