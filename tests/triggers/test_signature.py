"""Who sent a webhook: forged, old, replayed under another id, and the senders' own examples."""

from __future__ import annotations

import hmac

import pytest

from actum.core.errors import UsageError
from actum.core.json import Json
from actum.core.stored.webhook import signature
from actum.triggers.event import event_id
from actum.triggers.settings import SignatureForm, TriggerTable
from actum.triggers.signature import BadSignature, check_signature

pytestmark = pytest.mark.row("A6")

BODY = b'{"room": "kitchen"}'
NOW = 1_790_000_000
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def signed(form: SignatureForm, body: bytes = BODY, secret: str = SECRET, at: int = NOW) -> dict[str, str]:
    if form == "standard":
        headers = {"webhook-id": "msg_1", "webhook-timestamp": str(at)}
        return headers | {"webhook-signature": "v1a,old " + signature([secret], "msg_1", at, body)}
    if form == "github":
        return {"x-hub-signature-256": "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()}
    if form == "stripe":
        mac = hmac.new(secret.encode(), b"%d." % at + body, "sha256").hexdigest()
        return {"stripe-signature": f"t={at},v0=ab,v1={'0' * 64},v1={mac}"}
    return {"authorization": f"Bearer {secret}"}


FORMS: tuple[SignatureForm, ...] = ("standard", "github", "stripe", "token")


@pytest.mark.parametrize("form", FORMS)
def test_what_the_sender_signed_is_let_in_and_what_was_changed_is_not(form: SignatureForm) -> None:
    def check(headers: dict[str, str], body: bytes = BODY, now: float = NOW) -> None:
        check_signature(form, [SECRET], headers, body, now=now, max_age_s=300)

    check(signed(form))
    wrong: list[tuple[dict[str, str], bytes, float]] = [
        ({}, BODY, NOW),
        (signed(form, secret="another"), BODY, NOW),
        (dict.fromkeys(signed(form), ""), BODY, NOW),
        ({name: value[:-1] for name, value in signed(form).items()}, BODY, NOW),
        ({name: "é" + value for name, value in signed(form).items()}, BODY, NOW),
    ]
    if form != "token":
        wrong.append((signed(form), BODY + b" ", NOW))
    if form in ("standard", "stripe"):
        wrong += [(signed(form), BODY, NOW + 301), (signed(form), BODY, NOW - 301)]
    if form == "standard":
        wrong.append((signed(form) | {"webhook-id": "msg_2"}, BODY, NOW))
    for headers, body, now in wrong:
        with pytest.raises(BadSignature) as refused:
            check(headers, body, now)
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize("form", FORMS)
def test_while_a_secret_is_changed_both_count_and_afterwards_the_new_one_alone(form: SignatureForm) -> None:
    old, new = signed(form, secret="the-old-one"), signed(form, secret="the-new-one")

    def check(headers: dict[str, str], *secrets: str) -> None:
        check_signature(form, secrets, headers, BODY, now=NOW, max_age_s=300)

    for headers in (old, new):
        check(headers, "the-old-one", "the-new-one")
    check(new, "the-new-one")
    for headers, secrets in ((old, ["the-new-one"]), (new, ["the-old-one"]), (new, [])):
        with pytest.raises(BadSignature):
            check(headers, *secrets)
    assert TriggerTable(secret="a").secrets == ("a",)
    assert TriggerTable(secret=("a", "b")).secrets == ("a", "b")
    assert TriggerTable().secrets == ()


def test_the_examples_of_the_senders_fit() -> None:
    """GitHub's documentation gives this secret, payload and signature."""
    headers = {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}
    check_signature("github", ["It's a Secret to Everybody"], headers, b"Hello, World!", now=NOW, max_age_s=300)


def test_the_id_of_an_event_stands_where_the_trigger_says() -> None:
    cases: list[tuple[TriggerTable, dict[str, str], Json, str]] = [
        (TriggerTable(secret="s"), {"webhook-id": "msg_1"}, {}, "msg_1"),
        (TriggerTable(secret="s", signature="github"), {"x-github-delivery": "g1"}, {}, "g1"),
        (TriggerTable(id="header:X-Id"), {"x-id": "7"}, {}, "7"),
        (TriggerTable(id="body:data.id"), {}, {"data": {"id": 12}}, "12"),
        (TriggerTable(id="body:items.1.id"), {}, {"items": [{"id": 12}, {"id": 13}]}, "13"),
    ]
    for table, headers, data, wanted in cases:
        assert event_id(table, headers, data) == wanted
    assert event_id(TriggerTable(), {}, {}) != event_id(TriggerTable(), {}, {})  # two presses of one switch
    wrong: list[Json] = [{}, [], {"id": None}, {"id": True}, {"id": ""}, {"id": {}}, {"id": "x" * 1_001}, "text"]
    for data in wrong:
        with pytest.raises(UsageError, match="id"):
            event_id(TriggerTable(id="body:id"), {}, data)
    for step in ("2", "-1", "1_0", "²", "99999999999999", ""):
        with pytest.raises(UsageError, match="id"):
            event_id(TriggerTable(id=f"body:{step}"), {}, ["a", "b"])
