"""Concentrated Differential Privacy (Bun and Steinke, arXiv:1605.02065v1)."""
