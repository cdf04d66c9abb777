"""What happens, as typed occurrences, and the interface of those who hear of it: progress, Dagster, traces."""
