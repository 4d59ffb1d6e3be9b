"""What a mechanism declares, held against what its code does: a declaration is not evidence."""
