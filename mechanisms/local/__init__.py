"""What each person reports for themself: one value, randomised before it is sent."""
