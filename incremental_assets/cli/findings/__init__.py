"""What `doctor` finds: from facts to findings with their cures."""
