"""functions that tell outputs apart, known or learned."""
