"""What the text of a function shows that no run of it does: what it reaches, decides, keeps, and seeds."""
