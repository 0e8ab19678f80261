from __future__ import annotations

import pytest

from examples.native_exact_bytes import main as example


@pytest.mark.row("S3")
async def test_what_goes_over_the_wire_is_what_the_files_hold_to_the_last_byte() -> None:
    result, model = await example.run()

    assert model.requests == [example.recorded("1_request.json"), example.recorded("2_request.json")]
    ((call, outcome),) = result.calls
    assert (call.id, call.name, call.arguments) == ("call_abc123", "get_weather", {"location": "Boston"})
    assert call.raw == '{\n  "location": "Boston"\n}'
    assert outcome.structured == {"city": "Boston", "weather": "cloudy", "temperature": 12}
    assert result.text == "It is cloudy in Boston, at 12 °C."
    assert (result.usage.input_tokens, result.usage.output_tokens) == (62 + 98, 17 + 12)


def test_the_files_show_a_call_beside_no_content_its_arguments_as_text_and_the_result_under_its_id() -> None:
    second = example.recorded("2_request.json")

    assert b'"content": null' in example.recorded("1_response.json")
    assert b'"content":null,"tool_calls":[{"id":"call_abc123","type":"function"' in second
    assert rb'"arguments":"{\n  \"location\": \"Boston\"\n}"' in second
    assert b'{"role":"tool","tool_call_id":"call_abc123","content":' in second
    assert second.count(b'"tools":[') == 1
