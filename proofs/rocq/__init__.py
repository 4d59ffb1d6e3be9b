"""Certificates as files for the proof assistant Rocq (Coq), whose kernel decides every condition again."""
