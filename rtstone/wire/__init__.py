"""The wire between agent and host: docs/wire.md."""
