"""What a search costs that tries a random number of runs and releases the best of them."""
