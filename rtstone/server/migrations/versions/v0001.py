"""The first version of the tables."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sql.BigInteger().with_variant(sql.Integer(), "sqlite")
_TAG = sql.String(length=400).with_variant(
    postgresql.VARCHAR(length=400, collation="C"), "postgresql"
)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "audit",
        sql.Column("id", _ID, nullable=False),
        sql.Column("at", sql.Float(), nullable=False),
        sql.Column("who", sql.String(length=200), nullable=False),
        sql.Column("client", sql.String(length=64), nullable=False),
        sql.Column("action", sql.String(length=40), nullable=False),
        sql.Column("project", sql.String(length=64), nullable=True),
        sql.Column("what", sql.Text(), nullable=False),
        sql.Column("outcome", sql.Text(), nullable=False),
        sql.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_at"), "audit", ["at"], unique=False)
    op.create_table(
        "deliveries",
        sql.Column("id", _ID, nullable=False),
        sql.Column("hook", sql.String(length=200), nullable=False),
        sql.Column("body", sql.Text(), nullable=False),
        sql.Column("made", sql.Float(), nullable=False),
        sql.Column("tries", sql.Integer(), nullable=False),
        sql.Column("next", sql.Float(), nullable=False),
        sql.Column("failed", sql.Text(), nullable=True),
        sql.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
    )
    op.create_index(op.f("ix_deliveries_next"), "deliveries", ["next"], unique=False)
    op.create_table(
        "projects",
        sql.Column("id", _ID, nullable=False),
        sql.Column("name", sql.String(length=64), nullable=False),
        sql.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sql.UniqueConstraint("name", name=op.f("uq_projects_name")),
    )
    op.create_table(
        "tokens",
        sql.Column("id", sql.String(length=16), nullable=False),
        sql.Column("hash", sql.String(length=64), nullable=False),
        sql.Column("name", sql.String(length=200), nullable=False),
        sql.Column("project", sql.String(length=64), nullable=True),
        sql.Column("scope", sql.String(length=8), nullable=False),
        sql.Column("created", sql.Float(), nullable=False),
        sql.Column("expires", sql.Float(), nullable=True),
        sql.Column("used", sql.Float(), nullable=True),
        sql.Column("revoked", sql.Float(), nullable=True),
        sql.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    op.create_table(
        "campaigns",
        sql.Column("project", _ID, nullable=False),
        sql.Column("name", sql.String(length=200), nullable=False),
        sql.Column("told", sql.Float(), nullable=False),
        sql.Column("state", sql.Text(), nullable=False),
        sql.ForeignKeyConstraint(
            ["project"], ["projects.id"], name=op.f("fk_campaigns_project"), ondelete="CASCADE"
        ),
        sql.PrimaryKeyConstraint("project", "name", name=op.f("pk_campaigns")),
    )
    op.create_table(
        "deletions",
        sql.Column("project", _ID, nullable=False),
        sql.Column("run_id", sql.String(length=200), nullable=False),
        sql.Column("fingerprint", sql.String(length=64), nullable=False),
        sql.Column("at", sql.Float(), nullable=False),
        sql.Column("by", sql.String(length=200), nullable=False),
        sql.Column("why", sql.Text(), nullable=False),
        sql.ForeignKeyConstraint(
            ["project"], ["projects.id"], name=op.f("fk_deletions_project"), ondelete="CASCADE"
        ),
        sql.PrimaryKeyConstraint("project", "run_id", name=op.f("pk_deletions")),
    )
    op.create_table(
        "runs",
        sql.Column("id", _ID, nullable=False),
        sql.Column("project", _ID, nullable=False),
        sql.Column("run_id", sql.String(length=200), nullable=False),
        sql.Column("fingerprint", sql.String(length=64), nullable=False),
        sql.Column("created", sql.String(length=64), nullable=False),
        sql.Column("begun", sql.Float(), nullable=False),
        sql.Column("arrived", sql.Float(), nullable=False),
        sql.Column("target", sql.String(length=400), nullable=False),
        sql.Column("series_target", sql.String(length=400), nullable=False),
        sql.Column("kernel", sql.String(length=400), nullable=True),
        sql.Column("suite", sql.String(length=200), nullable=True),
        sql.Column("label", sql.String(length=400), nullable=True),
        sql.Column("campaign", sql.String(length=200), nullable=True),
        sql.Column("status", sql.String(length=20), nullable=False),
        sql.Column("ok", sql.Integer(), nullable=False),
        sql.Column("results", sql.Integer(), nullable=False),
        sql.Column("grade", sql.String(length=8), nullable=False),
        sql.Column("verdict", sql.Text(), nullable=False),
        sql.ForeignKeyConstraint(
            ["project"], ["projects.id"], name=op.f("fk_runs_project"), ondelete="CASCADE"
        ),
        sql.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sql.UniqueConstraint("project", "run_id", name=op.f("uq_runs_project_run_id")),
    )
    op.create_index(op.f("ix_runs_project_begun"), "runs", ["project", "begun"], unique=False)
    op.create_index(op.f("ix_runs_project_campaign"), "runs", ["project", "campaign"], unique=False)
    op.create_index(
        op.f("ix_runs_project_series_target_begun"),
        "runs",
        ["project", "series_target", "begun"],
        unique=False,
    )
    op.create_table(
        "series",
        sql.Column("id", _ID, nullable=False),
        sql.Column("project", _ID, nullable=False),
        sql.Column("key", sql.String(length=16), nullable=False),
        sql.Column("target", sql.String(length=400), nullable=False),
        sql.Column("identity", sql.Text(), nullable=False),
        sql.Column("bench", sql.String(length=100), nullable=False),
        sql.Column("params", sql.Text(), nullable=False),
        sql.Column("series", sql.String(length=200), nullable=False),
        sql.Column("load", sql.String(length=400), nullable=False),
        sql.Column("unit", sql.String(length=20), nullable=False),
        sql.Column("exact", sql.Boolean(), nullable=False),
        sql.Column("label", sql.Text(), nullable=False),
        sql.ForeignKeyConstraint(
            ["project"], ["projects.id"], name=op.f("fk_series_project"), ondelete="CASCADE"
        ),
        sql.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sql.UniqueConstraint("project", "key", name=op.f("uq_series_project_key")),
    )
    op.create_index(
        op.f("ix_series_project_target_bench"),
        "series",
        ["project", "target", "bench"],
        unique=False,
    )
    op.create_table(
        "targets",
        sql.Column("project", _ID, nullable=False),
        sql.Column("name", sql.String(length=400), nullable=False),
        sql.Column("runs", sql.Integer(), nullable=False),
        sql.Column("last_run", _ID, nullable=False),
        sql.Column("last_begun", sql.Float(), nullable=False),
        sql.Column("usual_gap", sql.Float(), nullable=True),
        sql.Column("dirty", sql.Float(), nullable=True),
        sql.Column("claimed", sql.Float(), nullable=True),
        sql.ForeignKeyConstraint(
            ["project"], ["projects.id"], name=op.f("fk_targets_project"), ondelete="CASCADE"
        ),
        sql.PrimaryKeyConstraint("project", "name", name=op.f("pk_targets")),
    )
    op.create_table(
        "analyses",
        sql.Column("series", _ID, nullable=False),
        sql.Column("metric", sql.String(length=8), nullable=False),
        sql.Column("made", sql.Float(), nullable=False),
        sql.Column("document", sql.Text(), nullable=False),
        sql.ForeignKeyConstraint(
            ["series"], ["series.id"], name=op.f("fk_analyses_series"), ondelete="CASCADE"
        ),
        sql.PrimaryKeyConstraint("series", "metric", name=op.f("pk_analyses")),
    )
    op.create_table(
        "changes",
        sql.Column("id", _ID, nullable=False),
        sql.Column("project", _ID, nullable=False),
        sql.Column("series", _ID, nullable=False),
        sql.Column("metric", sql.String(length=8), nullable=False),
        sql.Column("at_run", sql.String(length=200), nullable=False),
        sql.Column("before_run", sql.String(length=200), nullable=False),
        sql.Column("begun", sql.Float(), nullable=False),
        sql.Column("verdict", sql.String(length=16), nullable=False),
        sql.Column("before_value", sql.Float(), nullable=True),
        sql.Column("after_value", sql.Float(), nullable=True),
        sql.Column("size", sql.Float(), nullable=True),
        sql.Column("found", sql.Float(), nullable=False),
        sql.Column("notified", sql.Float(), nullable=True),
        sql.Column("change", sql.Text(), nullable=False),
        sql.ForeignKeyConstraint(
            ["project"], ["projects.id"], name=op.f("fk_changes_project"), ondelete="CASCADE"
        ),
        sql.ForeignKeyConstraint(
            ["series"], ["series.id"], name=op.f("fk_changes_series"), ondelete="CASCADE"
        ),
        sql.PrimaryKeyConstraint("id", name=op.f("pk_changes")),
        sql.UniqueConstraint(
            "series", "metric", "at_run", name=op.f("uq_changes_series_metric_at_run")
        ),
    )
    op.create_index(
        op.f("ix_changes_project_verdict_begun"),
        "changes",
        ["project", "verdict", "begun"],
        unique=False,
    )
    op.create_table(
        "points",
        sql.Column("series", _ID, nullable=False),
        sql.Column("run", _ID, nullable=False),
        sql.Column("place", sql.Integer(), nullable=False),
        sql.Column("status", sql.String(length=12), nullable=False),
        sql.Column("n", sql.BigInteger(), nullable=False),
        sql.Column("p50", sql.Float(), nullable=True),
        sql.Column("p99", sql.Float(), nullable=True),
        sql.Column("p999", sql.Float(), nullable=True),
        sql.Column("max", sql.Float(), nullable=True),
        sql.Column("missed", sql.BigInteger(), nullable=True),
        sql.ForeignKeyConstraint(
            ["run"], ["runs.id"], name=op.f("fk_points_run"), ondelete="CASCADE"
        ),
        sql.ForeignKeyConstraint(
            ["series"], ["series.id"], name=op.f("fk_points_series"), ondelete="CASCADE"
        ),
        sql.PrimaryKeyConstraint("series", "run", "place", name=op.f("pk_points")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_points_run"), "points", ["run"], unique=False)
    op.create_table(
        "tags",
        sql.Column("project", _ID, nullable=False),
        sql.Column("kind", sql.String(length=8), nullable=False),
        sql.Column("value", _TAG, nullable=False),
        sql.Column("run", _ID, nullable=False),
        sql.ForeignKeyConstraint(
            ["project"], ["projects.id"], name=op.f("fk_tags_project"), ondelete="CASCADE"
        ),
        sql.ForeignKeyConstraint(
            ["run"], ["runs.id"], name=op.f("fk_tags_run"), ondelete="CASCADE"
        ),
        sql.PrimaryKeyConstraint("project", "kind", "value", "run", name=op.f("pk_tags")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_tags_run"), "tags", ["run"], unique=False)
