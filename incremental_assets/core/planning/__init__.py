"""What one sync reads and how far its watermark may go: pure, from the state and what the source said."""
