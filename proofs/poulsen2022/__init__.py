"""The elliptical Gaussian mechanism (Poulsen, report of 24 November 2022)."""
