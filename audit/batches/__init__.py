"""What a loader of batches draws, against how it is said to make them."""
