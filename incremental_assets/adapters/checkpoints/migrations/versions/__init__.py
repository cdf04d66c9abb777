"""See `incremental_assets.adapters.checkpoints.migrations`."""
