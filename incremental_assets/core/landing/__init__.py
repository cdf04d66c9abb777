"""How staged rows are put into a copy: pure decisions."""
