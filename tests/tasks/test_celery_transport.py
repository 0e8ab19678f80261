"""What is taken out of a message of the broker: the id of a run, or nothing."""

from __future__ import annotations

import base64
import json

from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import Json
from actum.tasks.celery_transport import TaskMessage, message_for_celery, read_message

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON, JSON)
def test_whatever_stands_in_a_message_it_is_read_or_dropped(message: Json, body: Json) -> None:
    encoded = base64.b64encode(json.dumps(body).encode()).decode()
    for said in (message, {"body": message}, {"body": encoded, "properties": {"delivery_tag": "t"}}):
        read = read_message(said)
        assert read is None or isinstance(read.run_id, str)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.text(max_size=50))
def test_what_celery_gets_says_the_run_and_the_tag_again(run_id: str, tag: str) -> None:
    message = TaskMessage(run_id, tag)
    assert read_message(message_for_celery(message, "actum")) == message
