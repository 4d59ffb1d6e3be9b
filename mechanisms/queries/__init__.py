"""sums of records, released once."""
