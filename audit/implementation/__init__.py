"""What a look inside an implementation shows: its embedding, its randomness, a game on a real table."""
