"""Oracle and SQL Server as sources of incremental-assets: experimental, never run against a real server."""
