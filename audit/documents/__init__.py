"""What is read and written: each document as one type, from which its check and its JSON Schema are made."""
