"""A process of its own for the user's code: what it may take, what it says, and what its result rests on."""
