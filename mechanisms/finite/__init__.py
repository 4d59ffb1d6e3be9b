"""Mechanisms of finitely many outcomes, or losses: responses, counts, and selection of one option among many."""
