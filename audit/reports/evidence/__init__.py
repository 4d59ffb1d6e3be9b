"""The kinds of evidence that a report can hold, a file for each: what it decides, and what each face says of it."""
