"""What is run, on what data, and where: mechanisms by name, data files, engines, the journal."""
