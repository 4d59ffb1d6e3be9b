"""Spherically symmetric noise in several dimensions: its curves by certified integrals, and events in closed form."""
