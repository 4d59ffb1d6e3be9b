"""contour."""
