"""many outcomes and their faces."""
