"""The JSON documents by name, and their JSON schemas."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import msgspec

from rtstone.errors import unknown

# name, as in the member "schema" of a document: module of this package, type
DOCUMENTS = {
    "run": ("run", "Run"),
    "plan": ("plan", "Plan"),
    "session": ("session", "Session"),
    "bundle": ("bundle", "Bundle"),
    "comparison": ("comparison", "Comparison"),
    "trend": ("trend", "Trend"),
    "check": ("check", "Gate"),
    "guarantee": ("worstcase", "Guarantee"),
    "worstcase": ("worstcase", "WorstCases"),
    "growth": ("growth", "GrowthTable"),
    "growth-compared": ("growth", "GrowthsCompared"),
    "reproduction": ("reproduction", "Reproduction"),
    "campaign": ("campaign", "CampaignState"),
    "explanation": ("explanation", "Explanation"),
    "doctor": ("doctor", "Checklist"),
    "sections": ("sections", "SectionsOfRun"),
    "sections-compared": ("sections", "SectionsCompared"),
    "provocation": ("provocation", "Provocation"),
    "search": ("search", "SearchResult"),
    "simulation": ("simulation", "Simulation"),
    "simulated-hartstone": ("simulation", "Hartstone"),
    "schedulability": ("tasks", "Schedulability"),
    "tasks-run": ("tasks_run", "TasksRun"),
    "tasks-explanation": ("tasks_explanation", "TasksExplanation"),
    "breakdown": ("breakdown_curve", "BreakdownCurve"),
    "server-projects": ("server", "Projects"),
    "server-overview": ("server", "Overview"),
    "server-latencies": ("server", "Latencies"),
    "server-series-list": ("server", "SeriesList"),
    "server-series": ("server", "SeriesView"),
    "server-search": ("server", "Search"),
    "server-campaigns": ("server", "Campaigns"),
    "server-observations": ("server", "Observed"),
}


def document(name: str) -> type[msgspec.Struct]:
    """Return the type of a document.  Raises UsageError naming the nearest one."""
    if name not in DOCUMENTS:
        raise unknown("document", name, DOCUMENTS)
    module, kind = DOCUMENTS[name]
    type_: type[msgspec.Struct] = getattr(import_module(f"rtstone.documents.{module}"), kind)
    return type_


def schema(name: str) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a document.  Raises UsageError."""
    return msgspec.json.schema(document(name))
