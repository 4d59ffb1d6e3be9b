"""A process of its own for code of the user's: what it may take, what it says, and what its result rests on."""
