"""the privacy loss of one pair, one kind a file, and their composition."""
