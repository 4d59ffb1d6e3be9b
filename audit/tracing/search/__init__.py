"""The search of a pair of neighbouring tables that breaks a claim: records that move the releases furthest, measured."""
