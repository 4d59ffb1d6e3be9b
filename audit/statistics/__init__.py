"""Tests and bounds on numbers alone: no mechanism is run here."""
