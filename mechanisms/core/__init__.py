"""what every mechanism states: claim, neighbours, noise, sensitivity."""
