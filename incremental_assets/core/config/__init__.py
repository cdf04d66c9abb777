"""sources.yaml: from text with line numbers to frozen values, or every mistake in it at once."""
