"""What the captures of a database share: rows of one snapshot, after open transactions were asked for."""
