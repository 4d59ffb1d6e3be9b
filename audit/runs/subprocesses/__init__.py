"""One audit, or one replay, in a process of its own, where the code of a user runs."""
