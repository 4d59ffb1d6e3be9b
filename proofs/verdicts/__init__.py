"""What a verdict's certificate must say, derived from its head: mechanism, parameters, relation, claim and conclusion."""
