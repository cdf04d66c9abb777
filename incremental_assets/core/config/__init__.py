"""sources.yaml: from text with places to frozen values, or every mistake in it at once."""
