"""What the checks of the paper share: its notation, its algorithms by brute force, and bounds in balls."""
