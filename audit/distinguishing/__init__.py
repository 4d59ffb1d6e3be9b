"""the membership-inference game: explore, test, bound, witness."""
