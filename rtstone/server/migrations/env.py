"""What alembic runs: the versions, on the connection that it is given."""

from __future__ import annotations

from alembic import context

from rtstone.server.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite cannot change a table in place
    compare_type=True,
)
context.run_migrations()
