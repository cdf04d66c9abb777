"""Programs of ours that are not shipped."""
