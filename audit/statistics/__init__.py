"""tests and bounds on numbers: no mechanism, no claim is run here."""
