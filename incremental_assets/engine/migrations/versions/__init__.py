"""See `incremental_assets.engine.migrations`."""
