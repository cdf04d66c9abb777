"""Databases that are read row by row through their driver: what does not depend on which database it is. Counts and hashes are made here, in Python."""
