"""The privacy losses of mechanisms that run on a random part of the data."""
