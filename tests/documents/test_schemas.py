"""The schemas of the documents against stored ones: a change is a change of the interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtstone.documents import plan
from rtstone.documents.schemas import DOCUMENTS, document, schema
from tests.conftest import Cli

GOLDEN = Path(__file__).parent / "schemas"


def undescribed(item: Any) -> Any:
    """Remove texts from a schema, which may change, and sort its alternatives."""
    if isinstance(item, dict):
        return {
            key: sorted(map(undescribed, value), key=str) if key == "anyOf" else undescribed(value)
            for key, value in item.items()
            if key != "description"
        }
    return [undescribed(member) for member in item] if isinstance(item, list) else item


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_has_the_members_that_it_had(name: str) -> None:
    """After adding members, update the file: `rtstone schema NAME >tests/documents/schemas/…`."""
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert undescribed(schema(name)) == undescribed(golden)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_says_the_name_of_its_schema(name: str) -> None:
    members = {field.name: field.default for field in msgspec.structs.fields(document(name))}
    assert members["schema"].startswith(f"rtstone.{name}/")


def test_every_document_that_says_a_schema_has_one() -> None:
    kinds = {document(name) for name in DOCUMENTS}
    package = Path(plan.__file__).parent
    for path in package.glob("*.py"):
        module = __import__(f"rtstone.documents.{path.stem}", fromlist=["_"])
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                assert "schema" not in kind.__struct_fields__ or kind in kinds, kind


def test_the_command(cli: Cli) -> None:
    done = cli("schema", "run")
    assert done.document["$ref"] == "#/$defs/Run"
    assert "p9999" in done.document["$defs"]["Result"]["properties"]
    wrong = cli("schema", "runn")
    assert (wrong.status, wrong.out) == (2, "")
    assert "did you mean 'run'?" in wrong.says
    text = cli("schema", "--help").out
    assert all(name in text for name in DOCUMENTS)
