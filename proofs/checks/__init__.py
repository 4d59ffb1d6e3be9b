"""What a statement, its check and its planted faults are, and the means of proof."""
