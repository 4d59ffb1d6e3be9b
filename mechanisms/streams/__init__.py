"""Mechanisms that release counts again and again while items arrive."""
