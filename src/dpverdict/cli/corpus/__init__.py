"""Published defects of released packages: the entries, the run of an entry, and what of it is installed here."""
