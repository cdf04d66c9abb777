"""Every decision of a sync, as pure values and functions: no Spark, Delta, Dagster or database."""
