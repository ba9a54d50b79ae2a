"""The wire between agent and host: docs/reference/wire.md."""
