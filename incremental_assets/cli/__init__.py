"""The command line: one function per verb, and what all of them share."""
