"""Where draws come from: the samplers and the primitives of libraries that are replaced while a run is looked at."""
