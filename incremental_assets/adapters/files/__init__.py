"""Files that others drop into a folder."""
