"""Expressions: what they come to, what they are given, and where their values came from."""

import json

import pytest

from actum.core.errors import UsageError
from actum.core.json import Json
from actum.core.provenance import Origin
from actum.policy.lineage import DEVELOPER, Built, From, Lineage, OfTool, origins_in
from actum.workflow.definition.expression import NoValue, compile_value

USER = From((Origin("user"),))


class Place:
    """The values of one place in a workflow."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._values: dict[str, Json] = {
            "inputs": {"budget": 4, "name": "Ada", "rows": list(range(400))},
            "find": {"output": [{"price": 3, "id": "x"}], "text": "t"},
        }

    def value(self, root: str) -> Json:
        self.asked.append(root)
        if root == "skipped":
            raise NoValue("skipped", skipped=True)
        return self._values[root]

    def lineage(self, root: str) -> Lineage:
        return USER if root == "inputs" else Built({"output": OfTool("search", ("id",))}, DEVELOPER)


def test_what_expressions_come_to() -> None:
    cases: list[tuple[Json, Json]] = [
        ("${find.output[0].id}", "x"),
        ("${find.output}", [{"id": "x", "price": 3}]),
        ("all: ${find.output}, ${inputs.name}", 'all: [{"price":3,"id":"x"}], Ada'),
        ("${skipped.output?}", None),
        ("${find.output[7]?}", None),
        ("no $ reference {x}", "no $ reference {x}"),
        ({"cel": "find.output.filter(f, f.price <= inputs.budget)[0].id"}, "x"),
        ({"cel": "'a, b'.split(',').map(t, t.trim()).join('-')"}, "a-b"),
        ({"cel": "sum([1, 2]) + number('3')"}, 6),
        ({"cel": "first(sort(distinct([3, 1, 3])))"}, 1),
        ({"cel": "get(json('{\"a\": [1]}'), 'a', null)"}, [1]),
        ({"cel": "date(0)"}, "1970-01-01T00:00:00Z"),
        ({"cel": "has(skipped.output)"}, False),
        ({"a": ["${inputs.budget}", 1], "cel": 2}, {"a": [4, 1], "cel": 2}),
    ]
    for source, expected in cases:
        assert compile_value(source).value(Place()) == expected, source


def test_an_expression_without_a_value_says_so() -> None:
    for source in (
        "${find.output[7]}",
        "${skipped.output}",
        {"cel": "inputs.no"},
        {"cel": "first([])"},
        {"cel": "1/0"},
    ):
        with pytest.raises(NoValue):
            compile_value(source).value(Place())  # type: ignore[arg-type]
    for source in ("${a b}", "${}", "${a.}", {"cel": "a +"}, {"cel": "nosuch(1)"}, "${secret:X}"):
        with pytest.raises(UsageError):
            compile_value(source)  # type: ignore[arg-type]


def test_an_expression_is_given_only_what_it_names() -> None:
    place = Place()
    compiled = compile_value({"cel": "inputs.budget > 3 && inputs.name != 'inputs.rows'"})
    assert {name.path for name in compiled.named()} == {"inputs.budget", "inputs.name"}
    assert compiled.value(place) is True
    assert place.asked == ["inputs"]


def test_lists_that_are_collected_are_those_of_the_language() -> None:
    for source, expected in (
        ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
        ("{'e': 1, 'b': 2, 'd': 3, 'a': 4, 'c': 5}.map(k, k)", ["a", "b", "c", "d", "e"]),
        ("[{'d': 1, 'b': 2, 'c': 3, 'a': 4}].map(l, l.map(k, k))", [["a", "b", "c", "d"]]),
        ("{3: 1, 1: 2, 2: 3}.map(k, k)", [1, 2, 3]),
        ("distinct([{'b': 1, 'a': 2, 'c': 3}, {'c': 3, 'a': 2, 'b': 1}])", [{"a": 2, "b": 1, "c": 3}]),
        ("{'b': 1, 'a': 0, 'd': 1, 'c': 1}.filter(k, k > 'b')", ["c", "d"]),
        ("[[1, 2], [3]].map(l, l.map(x, x + 1))", [[2, 3], [4]]),
        ("[[1, 2], [3]].filter(l, size(l) > 1).map(l, l[0])", [1]),
        ("['a,b', '('] . map ( x , [x + \"),\"][0] )", ["a,b),", "(),"]),
        ("[1, 0].map(x, 1 / x).size() > 9 || true", True),
        ("[1].filter(x, [2].exists(y, y > x)).size() + 3", 4),
        ("[1.5, 'a', null].map(x, type(x) == string)", [False, True, False]),
    ):
        assert compile_value({"cel": source}).value(Place()) == expected, source
    made = compile_value({"cel": "{'e': 1, 'b': 2, 'd': 3, 'a': 4, 'c': 5}"}).value(Place())
    assert json.dumps(made) == '{"a": 4, "b": 2, "c": 5, "d": 3, "e": 1}'
    for source in ("[1, 0].map(x, 1 / x)", "[1, 2].filter(x, x)", "'abc'.map(x, x)"):
        with pytest.raises(NoValue):
            compile_value({"cel": source}).value(Place())


def test_functions_are_bounded() -> None:
    for source in (
        "replace('aaaaaaaaaa', 'a', inputs.long)",
        "[inputs.long, inputs.long].join(inputs.long)",
        "inputs.rows.map(a, inputs.rows.filter(b, a == b))",
    ):
        place = Place()
        place._values["inputs"] = {"long": "x" * 500_000, "rows": list(range(3_000))}
        with pytest.raises(NoValue):
            compile_value({"cel": source}).value(place)


def test_origins_are_exact() -> None:
    arguments: dict[str, Json] = {
        "to": "${find.output[0].id}",
        "price": "${find.output[0].price}",
        "whole": "${find.output}",
        "who": "${inputs.name}",
        "literal": "hello",
        "text": "Dear ${inputs.name}",
        "computed": {"cel": "find.output[0].id"},
    }
    compiled = compile_value(arguments)
    place = Place()
    value = compiled.value(place)
    assert isinstance(value, dict)
    origins = origins_in(value, compiled.lineage(place))
    assert origins == {
        "to": (Origin("tool", "search", "[0].id", trusted=True),),
        "price": (Origin("tool", "search", "[0].price"),),
        "whole[0].price": (Origin("tool", "search", "[0].price"),),
        "whole[0].id": (Origin("tool", "search", "[0].id", trusted=True),),
        "who": (Origin("user"),),
        "literal": (Origin("developer"),),
        "text": (Origin("developer", part=True), Origin("user", part=True)),
        "computed": (Origin("tool", "search", "", part=True),),
    }


def test_a_reference_can_be_piped_through_a_function() -> None:
    place = Place()
    assert compile_value("${find.output|loose_text}").value(place) == "[{'price': 3, 'id': 'x'}]"
    assert compile_value("<${ inputs.name | upper }> ${inputs.budget?|text}").value(place) == "<ADA> 4"
    assert compile_value("${skipped.output?|loose_text}").value(place) == ""
    assert next(iter(compile_value("${inputs.name|upper}").named())).path == "inputs.name"
    with pytest.raises(NoValue, match="expected a text"):
        compile_value("${inputs.budget|upper}").value(place)
    with pytest.raises(UsageError, match="no function 'uper'"):
        compile_value("${inputs.name|uper}")
