"""The report of an import: no field of a foreign file is dropped silently."""

from actum.core.json import JsonObject
from actum.workflow.imports.report import ImportNotes


def test_a_field_that_nobody_has_read_is_reported_as_lost() -> None:
    notes = ImportNotes("dify")
    value: JsonObject = {
        "title": "Ask",
        "model": {"name": "m", "mode": "chat"},
        "width": 3,
        "cases": [{"id": "1", "x": 2}],
        "no": [],
    }
    node = notes.reader(value, id="17", name="ask", title="Ask")
    assert node.text("title") == "Ask"
    assert node.object("model").text("name") == "m"
    assert [case.text("id") for case in node.objects("cases")] == ["1"]
    node.editor_only("width")
    node.finish()
    found = {line.field: line.status for line in notes.report().lines}
    assert found == {
        "title": "same",
        "model.name": "same",
        "model.mode": "lost",
        "width": "near",
        "cases[0].id": "same",
        "cases[0].x": "lost",
    }
    assert notes.report().exit_code == 4
    assert [line.id for line in notes.report().of("ask")] == ["17"] * 6


def test_a_field_of_a_wrong_type_is_reported_and_counts_as_missing() -> None:
    notes = ImportNotes("dify")
    node = notes.reader({"a": [1], "b": {}, "c": "x", "d": 5, "e": "7", "f": "True"})
    assert (node.text("a"), node.items("b"), node.number("c", 1), node.object("d").text("x")) == ("", [], 1, "")
    assert (node.number("e", 0), node.flag("f")) == (7, True)
    node.finish()
    lost = {line.field for line in notes.report().lines if line.status == "lost"}
    assert lost == {"a", "b", "c", "d"}
    assert ImportNotes("dify").reader([1]).value == {}


def test_the_exit_code_says_whether_something_is_open_or_lost() -> None:
    for statuses, code in ((["same", "near"], 0), (["near", "open"], 3), (["open", "lost"], 4), ([], 0)):
        notes = ImportNotes("dify")
        for number, status in enumerate(statuses):
            notes.say(status, f"f{number}", "why")  # type: ignore[arg-type]
        assert notes.report().exit_code == code
