"""What one sync reads and how far its watermark may go: pure, from the state and an observation of the source."""
