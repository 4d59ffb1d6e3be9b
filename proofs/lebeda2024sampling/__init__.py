"""Pitfalls of accounting for sampled mechanisms (Lebeda, Regehr, Kamath and Steinke 2024, arXiv:2405.20769)."""
