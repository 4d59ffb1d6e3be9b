"""The noise tap: the draws of a function, recorded on one dataset and replayed on its neighbour."""
