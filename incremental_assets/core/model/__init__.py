"""Values: tables, cursors, windows, partitions, states; what every other room speaks of."""
