"""What is left of a person in the lake, in the checkpoint database and in Dagster's home, found by decoding every byte there."""
