"""Results of this project (dpverdict)."""
