"""A search among the operations of large published documents, instead of a thousand tools in one prompt."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from actum import Agent, Limits, Tool, ToolCall, ToolLimits
from actum.core.errors import InvalidArguments, PermissionDenied, UnknownTool, UsageError
from actum.core.interfaces import Toolset
from actum.core.json import JsonObject, dumps
from actum.core.message import ToolMessage
from actum.policy.rules import Rule, Rules
from actum.testing import FakeClock, ScriptedModel
from actum.toolsets.http.finder import ApiFinder
from actum.toolsets.http.toolset import ApiToolset
from actum.toolsets.wrappers import ToolLabels, Wrapper, combined, filtered, labelled, prefixed, renamed
from tests.endurance import some
from tests.transport.wire_servers import said, wire_server

from .test_real_documents import added
from .test_toolset import JSON, context

QUESTIONS = {
    "api.github.com": {
        "create an issue in a repository": "issues_create",
        "list pull requests": "pulls_list",
        "merge a pull request": "pulls_merge",
        "delete a repository": "repos_delete",
        "star a repository for me": "activity_star-repo-for-authenticated-user",
        "issues/create": "issues_create",
    },
    "digitalocean.com": {
        "create a droplet": "droplets_create",
        "list all kubernetes clusters": "kubernetes_list_clusters",
        "delete a domain record": "domains_delete_record",
    },
    "asana.com": {"create a task": "createTask", "list workspaces": "getWorkspaces"},
    "okta": {"reset password of a user": "resetPassword", "list groups": "listGroups"},
}


async def finder(document: str, server: str = "https://api.example.com") -> ApiFinder:
    return ApiFinder(ApiToolset(await added(document, server)))


async def found(api: ApiFinder, query: str) -> list[str]:
    result = await api.execute(ToolCall("1", "api_find_tools", {"query": query}), context("api_find_tools"))
    assert isinstance(result.structured, dict)
    assert len(dumps(result.structured)) < 20_000, query
    listed = result.structured["found"]
    assert isinstance(listed, list)
    return [str(each["tool"]) for each in listed if isinstance(each, dict)]


@pytest.mark.row("T2")
async def test_the_operation_that_is_meant_is_among_the_first_of_real_documents() -> None:
    missed: list[str] = []
    for document, questions in QUESTIONS.items():
        api = await finder(document)
        tools = await api.list_tools()
        assert len(tools) <= 4
        assert len(msgspec.json.encode([[each.name, each.description, each.parameters] for each in tools[:3]])) < 2000
        for query, wanted in questions.items():
            names = await found(api, query)
            if wanted not in names:
                missed.append(f"{document}: {query!r} should find {wanted}, found {names}")
    assert missed == []
    api = await finder("asana.com")
    assert await found(api, "zzzz") == []
    assert await found(api, "") == []
    assert await found(api, "a" * 100_000) == []


@pytest.mark.endurance("src/actum/toolsets/http")
async def test_each_operation_of_a_document_is_found_by_its_name() -> None:
    api = await finder("api.github.com")
    for name in some([*api.toolset.tools], every=10):
        assert (await found(api, name))[0] == name


async def test_what_was_found_is_called_with_its_own_arguments_and_what_changes_waits_for_a_person() -> None:
    async with wire_server(lambda head, body: said(b"[]", "200 OK", JSON)) as server:
        api = await finder("api.github.com", f"http://127.0.0.1:{server.port}")
        repository: JsonObject = {"owner": "ann", "repo": "cats"}

        async def call(name: str, tool: str, arguments: JsonObject) -> str:
            asked = ToolCall("1", name, {"tool": tool, "arguments": arguments})
            return (await api.execute(asked, context(name))).text

        assert await call("api_read", "issues_list-for-repo", repository) == "[]"
        assert server.heads[0].startswith("GET /repos/ann/cats/issues ")
        with pytest.raises(InvalidArguments, match=r"arguments\.repo"):
            await call("api_read", "issues_list-for-repo", {"owner": "ann"})
        with pytest.raises(UnknownTool, match="called with api_change"):
            await call("api_read", "repos_delete", repository)
        with pytest.raises(UnknownTool, match="called with api_read"):
            await call("api_change", "issues_list-for-repo", repository)
        with pytest.raises(UnknownTool, match="Near: issues_list"):
            await call("api_read", "issues_list_for_repo", repository)
        assert len(server.heads) == 1
        deleting = ToolCall("1", "api_change", {"tool": "repos_delete", "arguments": repository})
        agent = Agent(ScriptedModel([deleting, "done"]), [api], policy=Rules(Rule("allow", tools="*")))
        result = await agent.run("Delete it.")
        assert [pending.kind for pending in result.pending] == ["approval"]
        assert len(server.heads) == 1, "nobody has approved it"
        await api.aclose()


async def test_a_rule_or_a_label_that_names_an_operation_holds_however_the_operation_is_called() -> None:
    async with wire_server(lambda head, body: said(b"[]", "200 OK", JSON)) as server:
        api = await finder("api.github.com", f"http://127.0.0.1:{server.port}")
        repository: JsonObject = {"owner": "ann", "repo": "cats"}

        async def ends(toolset: Toolset, *rules: Rule, prefix: str = "", at: str = "api_read") -> str:
            tool = "issues_list-for-repo" if at == "api_read" else "repos_delete"
            asked = ToolCall("1", prefix + at, {"tool": tool, "arguments": repository})
            agent = Agent(ScriptedModel([asked, "done"]), [toolset], policy=Rules(*rules, Rule("allow", tools="*")))
            result = await agent.run("Look.")
            if result.pending:
                return ", ".join(each.message for each in result.pending)
            return next(said.text for _, said in result.calls)

        assert await ends(api) == "[]"
        assert "no lists" in await ends(api, Rule("deny", tools="issues_*", reason="no lists"))
        assert "no owner" in await ends(
            api, Rule("deny", tools="issues_*", when="args.owner == 'ann'", reason="no owner")
        )
        assert "lists" in await ends(api, Rule("ask", tools="issues_list-for-repo", reason="lists"))
        assert await ends(api, Rule("ask", tools="issues_list-for-repo", when="args.owner == 'bob'")) == "[]"
        # A person is asked because the tool changes something, and because of the rule for the operation.
        assert "deleting" in await ends(api, Rule("ask", tools="repos_delete", reason="deleting"), at="api_change")
        assert "never" in await ends(api, Rule("deny", tools="repos_delete", reason="never"), at="api_change")
        own = prefixed("gh_", api)
        assert await ends(own, prefix="gh_") == "[]"
        assert "no lists" in await ends(own, Rule("deny", tools="gh_issues_*", reason="no lists"), prefix="gh_")
        marked = labelled({"issues_*": ToolLabels(approval=True)}, combined(api))
        assert await ends(marked) != "[]"
        assert "left out" in await ends(filtered(["api_*"], api))
        assert len(server.heads) == 3
        await api.aclose()


async def test_an_operation_that_is_held_is_neither_found_nor_called() -> None:
    setup = await added("asana.com", "https://api.example.com")
    held = msgspec.structs.replace(
        setup, approved={name: digest for name, digest in setup.approved.items() if name != "createTask"}
    )
    api = ApiFinder(ApiToolset(held))
    assert "createTask" not in await found(api, "create task")
    with pytest.raises(UnknownTool):
        await api.execute(ToolCall("1", "api_change", {"tool": "createTask"}), context("api_change"))


async def test_an_operation_that_takes_a_secret_value_is_not_called_by_the_search() -> None:
    api = await finder("okta")
    arguments: JsonObject = {"appId": "a", "userId": "u", "body": {"credentials": {"password": {"value": "hunter22"}}}}
    asked = ToolCall("1", "api_change", {"tool": "updateApplicationUser", "arguments": arguments})
    with pytest.raises(PermissionDenied, match="takes a secret value"):
        await api.execute(asked, context("api_change"))
    result = await api.execute(
        ToolCall("1", "api_find_tools", {"query": "updateApplicationUser"}), context("api_find_tools")
    )
    assert isinstance(result.structured, dict)
    assert "a person has to add it by itself" in dumps(result.structured)


async def test_limits_count_a_call_of_the_search_also_as_a_call_of_the_operation() -> None:
    async with wire_server(lambda head, body: said(b'["' + b"x" * 500 + b'"]', "200 OK", JSON)) as server:
        api = await finder("api.github.com", f"http://127.0.0.1:{server.port}")
        arguments: JsonObject = {"owner": "ann", "repo": "cats"}
        lists: JsonObject = {"tool": "issues_list-for-repo", "arguments": arguments}
        pulls: JsonObject = {"tool": "pulls_list", "arguments": arguments}

        async def made(limits: Limits, *asked: JsonObject) -> list[str]:
            script = [ToolCall(str(number), "api_read", each) for number, each in enumerate(asked)]
            agent = Agent(
                ScriptedModel([*script, "done"]),
                [api],
                policy=Rules(Rule("allow", tools="*")),
                limits=limits,
                clock=FakeClock(auto=True),
            )
            calls = (await agent.run("Look.")).calls
            return ["" if result.error is None else result.error.limit or result.error.code for _, result in calls]

        once = ToolLimits(calls=1)
        assert await made(Limits(tools={"issues_*": once}), lists, pulls, lists) == ["", "", "tool_calls"]
        assert await made(Limits(tools={"api_read": once}), lists, pulls) == ["", "tool_calls"]
        assert await made(Limits(tools={"*": ToolLimits(calls=2)}), lists, pulls, pulls) == ["", "", "tool_calls"]
        rate = ToolLimits(per_minute=1)
        assert await made(Limits(tools={"issues_*": rate}), lists, pulls, lists) == ["", "", "rate"]
        assert await made(Limits(tools={"issues_*": once}), {"tool": "nothing"}, lists) == ["unknown_tool", ""]
        short = Limits(tools={"issues_*": ToolLimits(result_bytes=40)})
        model = ScriptedModel([ToolCall("1", "api_read", lists), ToolCall("2", "api_read", pulls), "done"])
        await Agent(model, [api], policy=Rules(Rule("allow", tools="*")), limits=short).run("Look.")
        told = [message.result.text for message in model.requests[-1].messages if isinstance(message, ToolMessage)]
        assert [len(each) > 400 for each in told] == [False, True]
        await api.aclose()


async def test_an_operation_that_fails_again_and_again_rests_alone() -> None:
    def answer(head: bytes, body: bytes) -> bytes:
        return said(b"", "503 No") if b"/issues" in head else said(b"[]", "200 OK", JSON)

    async with wire_server(answer) as server:
        api = await finder("api.github.com", f"http://127.0.0.1:{server.port}")
        repository: JsonObject = {"owner": "ann", "repo": "cats"}
        asked = [("issues_list-for-repo", number) for number in range(3)] + [("pulls_list", 1)]
        script = [
            ToolCall(f"{tool}{page}", "api_read", {"tool": tool, "arguments": {**repository, "page": page}})
            for tool, page in asked
        ]
        agent = Agent(
            ScriptedModel([*script, "done"]),
            [api],
            policy=Rules(Rule("allow", tools="*")),
            limits=Limits(failures=2, attempts=1),
            clock=FakeClock(auto=True),
        )
        results = [result for _, result in (await agent.run("Look.")).calls]
        await api.aclose()
    assert [result.error is None for result in results] == [False, False, False, True]
    assert len([head for head in server.heads if "/issues" in head]) == 2, "the third call was not made"


async def test_a_filter_that_names_operations_keeps_the_search_for_these_alone_and_it_says_the_names_a_run_knows() -> (
    None
):
    async with wire_server(lambda head, body: said(b"[]", "200 OK", JSON)) as server:
        api = await finder("api.github.com", f"http://127.0.0.1:{server.port}")
        issues = prefixed("gh_", filtered(["issues_list*", "issues_create"], api))
        later = filtered(["gh_issues_list*", "gh_issues_create"], prefixed("gh_", combined(api)))
        settings = labelled(
            {"gh_*": ToolLabels()},
            prefixed("gh_", renamed({}, filtered(["issues_list*", "issues_create"], combined(api)))),
        )
        for toolset in (issues, later, settings):
            names = [tool.name for tool in await toolset.list_tools()]
            assert names[:3] == ["gh_api_find_tools", "gh_api_read", "gh_api_change"]
            asked = ToolCall("1", names[0], {"query": "create an issue"})
            result = await toolset.execute(asked, context(names[0]))
            assert isinstance(result.structured, dict)
            told = result.structured["found"]
            assert isinstance(told, list)
            assert all(isinstance(each, dict) and str(each["tool"]).startswith("gh_issues_") for each in told)
            first = told[0]
            assert isinstance(first, dict)
            assert (first["tool"], first["call_with"]) == ("gh_issues_create", "gh_api_change")
            repository: JsonObject = {"owner": "ann", "repo": "cats"}

            async def text(tool: str, toolset: Toolset = toolset, given: JsonObject = repository) -> str:
                call = ToolCall("1", "gh_api_read", {"tool": tool, "arguments": given})
                agent = Agent(ScriptedModel([call, "done"]), [toolset], policy=Rules(Rule("allow", tools="*")))
                return next(result.text for _, result in (await agent.run("Look.")).calls)

            assert await text("gh_issues_list-for-repo") == "[]"
            assert "left out" in await text("pulls_list")
            assert "gh_api_find_tools" in await text("gh_pulls_list")
        reading = filtered(["issues_list*"], api)
        assert [tool.name for tool in await reading.list_tools()] == ["api_find_tools", "api_read"]
        assert await filtered(["zzz*"], api).list_tools() == ()
        await api.aclose()


class Marked(Wrapper):
    """Marks the tools that it lists, and knows nothing of those that a tool stands for."""

    async def list_tools(self) -> Sequence[Tool]:
        return [msgspec.structs.replace(each, approval=True) for each in await super().list_tools()]


async def test_a_wrapper_that_would_miss_the_operations_behind_the_tools_is_refused() -> None:
    api = await finder("asana.com")
    assert len(await Wrapper(api).list_tools()) == len(await api.list_tools())
    for inside in (api, prefixed("x_", api), combined(api), Wrapper(api)):
        with pytest.raises(UsageError, match=r"Marked lists tools in its own way.*override shown\(\)"):
            Marked(inside)
