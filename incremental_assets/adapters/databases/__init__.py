"""Sources: light queries and the read for Spark, written once; one folder per database."""
