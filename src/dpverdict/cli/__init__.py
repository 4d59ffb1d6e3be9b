"""The command line: a file per command, the options they share, and the application that runs them."""
