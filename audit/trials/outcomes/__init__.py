"""What one call of a function under audit ends in, brought to one form that tests can score."""
