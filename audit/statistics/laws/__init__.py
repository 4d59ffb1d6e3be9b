"""Tests of whether a sampler has the law that it should have."""
