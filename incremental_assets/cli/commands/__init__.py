"""The commands: each answers with one value, which is printed for people or as JSON."""
