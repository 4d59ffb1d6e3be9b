"""A user's plain function followed once, with facts that hold for every pair of neighbouring datasets of a schema."""
