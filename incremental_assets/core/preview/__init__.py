"""What the next sync of a table would do, and whether one is due."""
