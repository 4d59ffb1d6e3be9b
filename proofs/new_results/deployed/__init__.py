"""Results on what is deployed outside training: bounded users, thresholded keys, local reports, and quantiles."""
