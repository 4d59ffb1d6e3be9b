"""Many outcomes together, and their faces: terminal, JSON, HTML and Markdown."""
