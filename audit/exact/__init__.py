"""The worst pair, the decision, and a certificate or a witness: nothing is sampled here."""
