"""counts under continual observation."""
