"""Training on private records, step by step."""
