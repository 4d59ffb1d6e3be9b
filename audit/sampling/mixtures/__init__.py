"""Mixtures of normal laws on a line, and the batches whose worst pairs they are."""
