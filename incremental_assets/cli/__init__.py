"""The command line: one function per command, and what they share."""
