"""Frames and series of pandas and polars that are followed: they keep the calls of the code that uses them."""
