"""The vocabulary of all other packages: tables, cursors, windows, partitions, states."""
