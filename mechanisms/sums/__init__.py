"""Sums that many parties make together: each adds a share of the noise, and only the sum is seen."""
