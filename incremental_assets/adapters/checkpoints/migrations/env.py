"""Runs the scripts on the connection that `schema.py` hands over, within its transaction."""

from alembic import context

from incremental_assets.adapters.checkpoints.schema import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
