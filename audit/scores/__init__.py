"""Functions that tell outcomes apart, known beforehand or learned."""
