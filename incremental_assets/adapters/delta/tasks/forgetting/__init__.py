"""Rows of a history or a quarantine that are older than they are kept leave the files that hold them, which are written anew without them."""
