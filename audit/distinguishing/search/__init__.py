"""Which neighbours tell most: searches with trials of their own, all thrown away before a claim is tested."""
