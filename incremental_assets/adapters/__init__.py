"""The outside world behind the ports: databases, Spark, Delta, the checkpoint table. No Dagster."""
