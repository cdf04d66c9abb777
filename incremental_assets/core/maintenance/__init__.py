"""What is done to a copy besides a sync: compacted, read again, taken back."""
