"""Mechanisms that release sums of records once."""
