"""Results that go beyond Poulsen (2022): the best elliptical noise, and where the classic calibration is valid."""
