"""worst pair, decision, certificate or witness: nothing is sampled."""
