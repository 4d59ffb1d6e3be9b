"""Tables of records as users have them: what a table may hold, how it is read, and how one is built."""
