"""The versions of the server's tables, by alembic."""
