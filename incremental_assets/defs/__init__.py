"""The Dagster edge: assets, checks, sensors, jobs, partitions, metadata. It asks for ports, never for Spark."""
