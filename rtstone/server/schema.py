"""The tables of the server's database.

The first ones hold what is nowhere else.  The others, CACHE, follow from the run directories: they
are never migrated, but made anew (upgrade.py).  Points in time are seconds since 1970, UTC.  JSON
is text, as msgspec encodes the documents it is from.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
)
from sqlalchemy.dialects import postgresql

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite counts rows by itself in a primary key of this type only.
_Id = BigInteger().with_variant(Integer, "sqlite")


# Ordered by code point, whatever the database's language, for searches by the beginning.
_Tag = String(400).with_variant(postgresql.VARCHAR(400, collation="C"), "postgresql")


def _reference(table: str) -> ForeignKey:
    """Return a reference to a row, which goes with that row."""
    return ForeignKey(f"{table}.id", ondelete="CASCADE")


# One row.  ``tables``: of the tables of this part.  ``cache``: of those of the other.
versions = Table(
    "rtstone_versions", metadata,
    Column("tables", Integer, nullable=False),
    Column("cache", String(16), nullable=False),
)  # fmt: skip

projects = Table(
    "projects", metadata,
    Column("id", _Id, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
)  # fmt: skip

# ``hash``: SHA-256 of a secret of 256 random bits.  ``project``: None for all of them.
tokens = Table(
    "tokens", metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("name", String(200), nullable=False),
    Column("project", String(64)),
    Column("scope", String(8), nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float),
    Column("used", Float),
    Column("revoked", Float),
)  # fmt: skip

audit = Table(
    "audit", metadata,
    Column("id", _Id, primary_key=True),
    Column("at", Float, nullable=False),
    Column("who", String(200), nullable=False),
    Column("client", String(64), nullable=False),
    Column("action", String(40), nullable=False),
    Column("project", String(64)),
    Column("what", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Index(None, "at"),
)  # fmt: skip

# Messages to webhooks that are still to be delivered.
deliveries = Table(
    "deliveries", metadata,
    Column("id", _Id, primary_key=True),
    Column("hook", String(200), nullable=False),
    Column("body", Text, nullable=False),
    Column("made", Float, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("next", Float, nullable=False),
    Column("failed", Text),
    Index(None, "next"),
)  # fmt: skip

# Runs that were deleted, which cannot be pushed again.  A file in the project's directory has the
# same (projects.py), for a database that is lost.
deletions = Table(
    "deletions", metadata,
    Column("project", _Id, _reference("projects"), primary_key=True),
    Column("run_id", String(200), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("at", Float, nullable=False),
    Column("by", String(200), nullable=False),
    Column("why", Text, nullable=False),
)  # fmt: skip

# The plan of a campaign as its client sent it: a rtstone.documents.campaign.CampaignState.
campaigns = Table(
    "campaigns", metadata,
    Column("project", _Id, _reference("projects"), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("told", Float, nullable=False),
    Column("state", Text, nullable=False),
)  # fmt: skip

# Changes of series: which were announced is nowhere else, nor are those before the runs that are
# analysed.  ``key``: of the series.  ``at_run``, ``before_run``: ids of the first run after it and
# of the last one before it.  ``begun``: of the first.  ``notified``: when feed and webhooks took
# notice of it.  ``change``: a rtstone.documents.trend.Change.
changes = Table(
    "changes", metadata,
    Column("id", _Id, primary_key=True),
    Column("project", _Id, _reference("projects"), nullable=False),
    Column("key", String(16), nullable=False),
    Column("metric", String(8), nullable=False),
    Column("at_run", String(200), nullable=False),
    Column("before_run", String(200), nullable=False),
    Column("begun", Float, nullable=False),
    Column("verdict", String(16), nullable=False),
    Column("before_value", Float),
    Column("after_value", Float),
    Column("size", Float),
    Column("found", Float, nullable=False),
    Column("notified", Float),
    Column("change", Text, nullable=False),
    UniqueConstraint("project", "key", "metric", "at_run"),
    Index(None, "project", "verdict", "begun"),
)  # fmt: skip


# ---- cache --------------------------------------------------------------------------------------

# ``id``: in order of arrival.  ``series_target``: the target as trends name it.  ``grade`` and
# ``verdict``: as the first line of the run's page has them.  ``fingerprint``: of plan and logs,
# without the number of arrival.
runs = Table(
    "runs", metadata,
    Column("id", _Id, primary_key=True),
    Column("project", _Id, _reference("projects"), nullable=False),
    Column("run_id", String(200), nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("created", String(64), nullable=False),
    Column("begun", Float, nullable=False),
    Column("arrived", Float, nullable=False),
    Column("target", String(400), nullable=False),
    Column("series_target", String(400), nullable=False),
    Column("kernel", String(400)),
    Column("suite", String(200)),
    Column("label", String(400)),
    Column("campaign", String(200)),
    Column("status", String(20), nullable=False),
    Column("ok", Integer, nullable=False),
    Column("results", Integer, nullable=False),
    Column("grade", String(8), nullable=False),
    Column("verdict", Text, nullable=False),
    UniqueConstraint("project", "run_id"),
    Index(None, "project", "begun"),
    Index(None, "project", "series_target", "begun"),
    Index(None, "project", "campaign"),
)  # fmt: skip

# What runs are searched by.  ``kind``: bench, load, flag, target, kernel or label.
tags = Table(
    "tags", metadata,
    Column("project", _Id, _reference("projects"), primary_key=True),
    Column("kind", String(8), primary_key=True),
    Column("value", _Tag, primary_key=True),
    Column("run", _Id, _reference("runs"), primary_key=True),
    Index(None, "run"),
    sqlite_with_rowid=False,
)  # fmt: skip

# A case on a target, as rtstone.stats.trend.series separates them.  ``key``: a hash of
# what identifies it, so that its address stays; ``former``: that of a local target before targets
# had the name of their machine.  ``label``: its parameters that are no defaults, its series and
# its load, in words.
series = Table(
    "series", metadata,
    Column("id", _Id, primary_key=True),
    Column("project", _Id, _reference("projects"), nullable=False),
    Column("key", String(16), nullable=False),
    Column("former", String(16)),
    Column("target", String(400), nullable=False),
    Column("identity", Text, nullable=False),
    Column("bench", String(100), nullable=False),
    Column("params", Text, nullable=False),
    Column("series", String(200), nullable=False),
    Column("load", String(400), nullable=False),
    Column("unit", String(20), nullable=False),
    Column("exact", Boolean, nullable=False),
    Column("label", Text, nullable=False),
    UniqueConstraint("project", "key"),
    Index(None, "project", "former"),
    Index(None, "project", "target", "bench"),
)  # fmt: skip

# The results of a series.  ``place``: of the result in its run.
points = Table(
    "points", metadata,
    Column("series", _Id, _reference("series"), primary_key=True),
    Column("run", _Id, _reference("runs"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("status", String(12), nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("p50", Float),
    Column("p99", Float),
    Column("p999", Float),
    Column("max", Float),
    Column("missed", BigInteger),
    Index(None, "run"),
    sqlite_with_rowid=False,
)  # fmt: skip

# ``dirty``: when a run came that has not been analysed; ``claimed``: when a server began to.
# ``usual_gap``: median of the times between the begins of its last runs, in s.
targets = Table(
    "targets", metadata,
    Column("project", _Id, _reference("projects"), primary_key=True),
    Column("name", String(400), primary_key=True),
    Column("runs", Integer, nullable=False),
    Column("last_run", _Id, nullable=False),
    Column("last_begun", Float, nullable=False),
    Column("usual_gap", Float),
    Column("dirty", Float),
    Column("claimed", Float),
)  # fmt: skip

# The newest runs of a series as a rtstone.documents.trend.Series, for each metric.  ``runs``,
# ``least``: as it has them.
analyses = Table(
    "analyses", metadata,
    Column("series", _Id, _reference("series"), primary_key=True),
    Column("metric", String(8), primary_key=True),
    Column("made", Float, nullable=False),
    Column("runs", Integer, nullable=False),
    Column("least", Integer, nullable=False),
    Column("document", Text, nullable=False),
)  # fmt: skip

# The row of a change's series.
SERIES_OF_CHANGE = and_(series.c.project == changes.c.project, series.c.key == changes.c.key)

CACHE = [runs, tags, series, points, targets, analyses]
