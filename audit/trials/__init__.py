"""what is run, on what, where: trials, engines, catalogue, files."""
