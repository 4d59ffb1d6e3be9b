"""Samplers on the whole numbers whose law is the stated one exactly, given random bits that are uniform."""
