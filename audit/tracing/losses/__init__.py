"""What one record spends by the releases of a function that was followed: by cells, by draws that are mixed, by samples."""
