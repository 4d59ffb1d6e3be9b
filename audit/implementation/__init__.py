"""checks of an implementation: embedding, grey box, membership."""
