"""What the certificate of a verdict must say, derived from its head: mechanism, parameters, relation, claim."""
