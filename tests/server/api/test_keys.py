"""`/v1/keys`: who makes and revokes keys over HTTP, and what nobody can give."""

from __future__ import annotations

from actum.core.json import JsonObject

from .application import ANN_OF_NORTH, answering, application


async def test_a_key_is_made_and_told_once_and_is_revoked_for_good() -> None:
    async with application(answering("Hi.")) as it:
        body: JsonObject = {"id": "ci", "user": "ann", "scopes": ["tools"], "tools": ["crm_*"], "expires_at": 4e9}
        made = await it.ask("POST", "/v1/keys", body, who="root")
        assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
        told = made.json()
        text = told.pop("key")
        assert text.startswith("ak_ci_")
        assert told.pop("is_first")
        assert (told["user"], told["tools"], told["expires_at"], told["made_by"]) == ("ann", ["crm_*"], 4e9, "root")
        listed = await it.ask("GET", "/v1/keys", who="root")
        assert listed.json() == {"items": [told], "next": None}
        assert text not in listed.text
        for status, code, refused in (
            (409, "taken", {"id": "ci"}),
            (422, "invalid", {"id": "a_b"}),
            (422, "invalid", {"id": "x", "expires_at": 1.0}),
            (422, "invalid", {"id": "x", "scopes": ["a b"]}),
            (422, "invalid", {"id": "x", "scope": "tools"}),
            (422, "invalid", {"id": "x", "scopes": ["tools", "nonsense"]}),
        ):
            answer = await it.ask("POST", "/v1/keys", refused, who="root")
            assert (answer.status_code, answer.json()["code"]) == (status, code), refused
        for before in (False, True):
            answer = await it.ask("DELETE", "/v1/keys/ci", who="root")
            assert answer.json() == {"id": "ci", "state": "revoked", "before": before, "is_any_left": False}
        lines = (await it.ask("GET", "/v1/audit", who="root")).json()["items"]
        assert sorted(each["tool"] for each in lines) == ["keys.add", "keys.revoke"]
        assert text not in str(lines)


async def test_another_tenant_has_no_such_key_and_learns_of_none() -> None:
    async with application(answering("Hi.")) as it:
        assert (await it.ask("POST", "/v1/keys", {"id": "ours"}, who="root")).status_code == 201
        assert (await it.ask("POST", "/v1/keys", {"id": "theirs"}, who="north")).json()["tenant"] == ANN_OF_NORTH.tenant
        for who, own, other in (("root", "ours", "theirs"), ("north", "theirs", "ours")):
            listed = (await it.ask("GET", "/v1/keys", who=who)).json()["items"]
            assert [each["id"] for each in listed] == [own]
            gone, none = [await it.ask("DELETE", f"/v1/keys/{name}", who=who) for name in (other, "none")]
            assert (gone.status_code, gone.content) == (404, none.content)
            lines = (await it.ask("GET", "/v1/audit", who=who)).json()["items"]
            assert [each["arguments"]["id"] for each in lines] == [own]


async def test_nobody_gives_a_key_more_than_they_have() -> None:
    async with application(answering("Hi.")) as it:
        within: JsonObject = {"tools": ["crm_find*", "add"], "models": ["gpt-5"]}
        cases: list[tuple[JsonObject, str]] = [
            (within, ""),
            (within | {"models": ["gpt-?"], "roles": ["clerk"]}, ""),
            ({"models": ["gpt-5"]}, "all tools"),
            ({"tools": ["add"]}, "all models"),
            (within | {"tools": ["*"]}, "the tools '*'"),
            (within | {"tools": ["crm_*", "pay"]}, "the tools 'pay'"),
            (within | {"models": ["gpt-*"]}, "the models 'gpt-*'"),
            (within | {"models": ["gpt-[0-9]"]}, "the models 'gpt-[0-9]'"),
            (within | {"roles": ["boss"]}, "the role 'boss'"),
            (within | {"speaks_for": "user"}, "speaks for its user"),
        ]
        for number, (body, told) in enumerate(cases):
            answer = await it.ask("POST", "/v1/keys", {"id": f"k{number}", **body}, who="clerk")
            assert answer.status_code == (403 if told else 201), answer.text
            if told:
                assert (answer.json()["code"], told in answer.json()["detail"]) == ("more", True), answer.text


async def test_a_key_that_ends_makes_none_that_is_valid_for_longer() -> None:
    async with application(answering("Hi.")) as it:
        made = await it.ask("POST", "/v1/keys", {"id": "brief", "expires_at": 4e9}, who="root")
        assert made.status_code == 201
        for name, body, status in (
            ("never", {}, 403),
            ("later", {"expires_at": 4e9 + 1}, 403),
            ("equal", {"expires_at": 4e9}, 201),
            ("sooner", {"expires_at": 3.9e9}, 201),
        ):
            answer = await it.ask("POST", "/v1/keys", {"id": name, **body}, who="brief")
            assert answer.status_code == status, answer.text
            if status == 403:
                assert (answer.json()["code"], "valid for longer" in answer.json()["detail"]) == ("more", True)


async def test_where_a_server_wants_no_key_none_is_made_or_revoked_over_http() -> None:
    async with application(answering("Hi.")) as it:
        await it.ask("POST", "/v1/keys", {"id": "ci"}, who="root")
        for method, path, body in (("POST", "/v1/keys", {"id": "x"}), ("DELETE", "/v1/keys/ci", None)):
            answer = await it.ask(method, path, body, who="keyless")
            assert (answer.status_code, answer.json()["code"]) == (403, "needs_key")
        (listed,) = (await it.ask("GET", "/v1/keys", who="keyless")).json()["items"]
        assert (listed["id"], listed["state"]) == ("ci", "valid")
