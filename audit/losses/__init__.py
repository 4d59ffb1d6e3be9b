"""The privacy loss of one pair of output laws, one kind in a file, and the composition of losses."""
