"""What one record spends by the releases of a function: by its cells, by mixed draws, by samples."""
