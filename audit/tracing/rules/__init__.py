"""What holds of a value for every table of a schema, and how each operation carries it on."""
