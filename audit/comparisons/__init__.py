"""dpverdict curve: curves and comparisons as tables and pictures."""
