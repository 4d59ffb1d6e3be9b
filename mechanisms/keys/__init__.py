"""What is released of data whose keys nobody knows beforehand: noisy counts above a threshold, and the keys alone."""
