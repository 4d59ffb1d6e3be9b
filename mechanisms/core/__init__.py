"""What every mechanism states: its claim, its neighbours, its noise and its sensitivity."""
