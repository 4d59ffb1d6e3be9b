"""The search of a pair of neighbouring tables that breaks a claim: the furthest moves, measured by the tap."""
