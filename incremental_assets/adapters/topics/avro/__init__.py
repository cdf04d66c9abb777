"""Records in Avro, whose schemas a registry has."""
