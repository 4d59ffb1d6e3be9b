"""one Report and its faces: terminal, JSON, HTML."""
