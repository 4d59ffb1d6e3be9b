"""Objects of other libraries as they are: what is released, what is claimed, on which neighbours; a file each."""
