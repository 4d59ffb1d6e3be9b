"""spherical."""
