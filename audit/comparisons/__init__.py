"""What `dpverdict curve` shows: curves of one mechanism, and comparisons of several, as tables and pictures."""
