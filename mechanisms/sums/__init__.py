"""Sums of many users and parties: each adds a bounded part, or a share of the noise that only the sum shows."""
