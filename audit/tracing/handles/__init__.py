"""What a function is handed in place of its table and its generator: each call is followed, or refused by name."""
