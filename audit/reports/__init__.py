"""One report, from its sections to its faces: terminal, JSON and HTML."""
