"""The identity of a case, which results, slopes, requests, gates and comparisons share."""

from __future__ import annotations

from rtstone.documents.case_key import ANOTHER_RUN, GUARANTEED, case_key, may_be
from rtstone.documents.run import Value

PARAMS: dict[str, Value] = {"period": 1000, "samples": 5, "prio": 80, "cpus": [2, 3]}


def test_all_parameters_make_a_case_of_one_run_in_any_order() -> None:
    key = case_key("dk.periodic", PARAMS, "a", "none")
    assert key == case_key("dk.periodic", dict(reversed(PARAMS.items())), "a", "none")
    assert len({key, key}) == 1
    changes: tuple[dict[str, Value], ...] = (
        {"period": 999},
        {"samples": 6},
        {"prio": 81},
        {"cpus": [2]},
    )
    for other in changes:
        assert key != case_key("dk.periodic", PARAMS | other, "a", "none")
    assert key != case_key("dk.periodic", PARAMS, "b", "none")
    assert key != case_key("dk.periodic", PARAMS, "a", "heavy")


def test_how_a_case_was_measured_makes_no_other_case_of_another_run() -> None:
    params: dict[str, Value] = PARAMS | {"samples": 6, "prio": 1, "cpus": [0], "raw": True}
    across = [case_key("x.y", p, ignoring=ANOTHER_RUN) for p in (PARAMS, params)]
    assert across[0] == across[1]
    guaranteed = [case_key("x.y", p, ignoring=GUARANTEED) for p in (PARAMS, params)]
    assert guaranteed[0] != guaranteed[1]  # at another priority nothing is guaranteed


def test_of_an_unsupported_case_not_all_parameters_are_known() -> None:
    assert may_be({"period": 1000}, PARAMS)
    assert not may_be({"period": 999}, PARAMS)


def test_a_list_of_lists_is_a_parameter_like_any_other() -> None:
    """No bench has one, but a document from elsewhere may."""
    nested = PARAMS | {"x": [[1.0, "a"], None]}
    assert {case_key("b", nested), case_key("b", dict(nested))} == {case_key("b", nested)}
    assert case_key("b", nested) != case_key("b", PARAMS | {"x": [[1.0, "b"], None]})
