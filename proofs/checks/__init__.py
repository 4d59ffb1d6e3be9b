"""a statement, its check, its planted faults, and the means of proof."""
