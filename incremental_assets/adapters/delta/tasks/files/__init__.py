"""Data files and staged files as Arrow: their rows, their deletion vectors, and what the log says of them."""
