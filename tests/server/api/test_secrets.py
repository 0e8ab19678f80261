"""`/v1/secrets`: a value comes in and never goes out, and a tenant has secrets of its own."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from actum.compose.secrets import kept_secrets
from actum.core.json import JsonObject
from actum.core.user import User

from .application import answering, application

KEY = {"ACTUM_SECRETS_KEY": "0123456789abcdef" * 4}


async def test_a_secret_is_set_used_and_removed_by_its_tenant_alone_and_never_answered(tmp_path: Path) -> None:
    kept = kept_secrets({"XDG_STATE_HOME": str(tmp_path), "ACTUM_SECRET_OPERATORS": "hunter1", **KEY})
    assert kept.store is not None
    said = ""
    async with application(answering("Hi."), secrets=kept) as it:
        for who, tenant, body in (
            ("root", "", {"value": "hunter2"}),
            ("root", "", {"value": "hunter3", "user": "ann"}),
            ("north", "north", {"value": "hunter4"}),
        ):
            answer = await it.ask("PUT", "/v1/secrets/crm_key", body, who=who)
            told = answer.json()
            assert (answer.status_code, told["name"], told["tenant"], told["kept_in"]) == (
                200,
                "crm_key",
                tenant,
                "file",
            )
            said += answer.text
        assert (kept.store.of(User("", "bob"))["crm_key"], kept.store.of(User("", "ann"))["crm_key"]) == (
            "hunter2",
            "hunter3",
        )
        assert kept.store.of(User("north", "ann"))["crm_key"] == "hunter4"
        for who, names in (("root", ["crm_key", "crm_key", "operators"]), ("north", ["crm_key"])):
            listed = await it.ask("GET", "/v1/secrets", who=who)
            assert [each["name"] for each in listed.json()["items"]] == names
            said += listed.text + (await it.ask("GET", "/v1/audit", who=who)).text
        assert (await it.ask("DELETE", "/v1/secrets/crm_key?user=ann", who="north")).status_code == 404
        assert [(await it.ask("DELETE", "/v1/secrets/crm_key", who="north")).status_code for _ in range(2)] == [
            204,
            404,
        ]
        assert kept.store.of(User("", "ann"))["crm_key"] == "hunter3"
        lines = (await it.ask("GET", "/v1/audit", who="north")).json()["items"]
        assert sorted(each["tool"] for each in lines) == ["secrets.rm", "secrets.set"]
    assert "hunter" not in said


async def test_what_can_be_no_secret_is_refused_and_a_keyless_server_changes_none(tmp_path: Path) -> None:
    bad: list[tuple[str, JsonObject, str, int, str]] = [
        ("crm%20key", {"value": "hunter2"}, "root", 422, "invalid"),
        ("crm_key", {"value": ""}, "root", 422, "invalid"),
        ("crm_key", {"value": "hunter2" * 10_000}, "root", 422, "invalid"),
        ("crm_key", {"value": ["hunter2"]}, "root", 422, "invalid"),
        ("crm_key", {"value": "hunter2", "tenant": "x"}, "root", 422, "invalid"),
        ("crm_key", {"value": "hunter2"}, "keyless", 403, "needs_key"),
        ("crm_key", {"value": "hunter2"}, "bob", 403, "scope"),
    ]
    async with application(answering("Hi."), secrets=kept_secrets({"XDG_STATE_HOME": str(tmp_path), **KEY})) as it:
        for name, body, who, status, code in bad:
            answer = await it.ask("PUT", f"/v1/secrets/{name}", body, who=who)
            assert (answer.status_code, answer.json()["code"]) == (status, code), (name, body)
            assert "hunter" not in answer.text
        assert (await it.ask("DELETE", "/v1/secrets/crm_key", who="keyless")).status_code == 403
        assert (await it.ask("GET", "/v1/secrets", who="root")).json() == {"items": [], "next": None}


async def test_a_store_that_can_not_be_read_is_told_without_its_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = kept_secrets({"XDG_STATE_HOME": str(tmp_path), **KEY})
    assert kept.store is not None
    file = tmp_path / "actum" / "secrets.json"
    file.parent.mkdir(parents=True)
    file.write_text("damaged")
    caplog.set_level(logging.ERROR, "actum.api")
    async with application(answering("Hi."), secrets=kept) as it:
        for method, body in (("GET", None), ("PUT", {"value": "hunter2"}), ("DELETE", None)):
            answer = await it.ask(method, f"/v1/secrets{'' if method == 'GET' else '/crm_key'}", body, who="root")
            told = answer.json()
            assert (answer.status_code, told["code"]) == (503, "secrets")
            assert str(tmp_path) not in answer.text
            assert told["reference"] in caplog.text
            assert str(file) in caplog.text
    async with application(answering("Hi.")) as it:  # a server without a home folder
        assert (await it.ask("PUT", "/v1/secrets/crm_key", {"value": "v"}, who="root")).json()["code"] == "no_secrets"
        assert (await it.ask("GET", "/v1/secrets", who="root")).json()["items"] == []
