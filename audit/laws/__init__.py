"""The laws of noise, one file a law: its density, its tails, its draws, and the privacy loss of it and itself moved."""
