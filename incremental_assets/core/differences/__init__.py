"""Which rows of a copy are not those of its source."""
