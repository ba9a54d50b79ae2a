from __future__ import annotations

from rtstone.stats import published
from rtstone.targets import model as simulated
from tests.models import printed


def test_every_source_has_numbers() -> None:
    for source in published.sources():
        assert published.find(source=source)


def test_one_number() -> None:
    number = printed("golatowski", "Table 1", system="RMOS3-PC1", metric="preemption")
    assert number == 4.1


def test_what_the_source_does_not_determine_has_no_value() -> None:
    number = published.find(source="golatowski", quality="not determined in source")
    assert len(number) == 3
    assert {record.value for record in number} == {None}


def test_models_are_named_as_the_publication_names_the_system() -> None:
    titles = {record.system for name in published.sources() for record in published.find(name)}
    models = [simulated.read(path) for path in simulated.shipped().values()]
    modelled = [model for model in models if model.label.startswith("modelled ")]
    assert modelled
    assert {model.title for model in modelled} <= titles
    assert all(model.source for model in modelled)
