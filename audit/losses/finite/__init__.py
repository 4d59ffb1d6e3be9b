"""Laws on finitely many outcomes: by their exact probabilities, or by float masses on a lattice."""
