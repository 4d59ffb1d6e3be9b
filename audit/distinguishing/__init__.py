"""The membership-inference game: explore, choose tests, decide on fresh releases, and keep a witness."""
