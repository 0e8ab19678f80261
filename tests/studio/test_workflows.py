"""A workflow is built by keys alone and by the mouse, run, published, changed in two tabs and rolled back; the saved
text and the record have all of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from .conftest import Studio, Watched
from .session import Held, api, listed, pasted, runs
from .test_first_minutes import fits, is_accessible_in_both_themes
from .test_hostile import HOSTILE, LINE, is_unharmed

pytestmark = pytest.mark.row("F2")

TALL = ViewportSize(width=1500, height=2_600)
"""Nothing is scrolled: a button that has just moved does not count yet."""
IMAGE = "<img src=x onerror=window.taken=1>"
SAVED = re.compile("^(Saved|已保存)$")
EXPECTED = ("404", "409", "422")
"""Statuses that the browser tells in its console, and that these tests bring about."""
EMPTY = """# Sums of Ada
actum: workflow/1
name: sums
inputs: {type: object, required: [times], properties: {times: {type: integer}}} # how often
nodes: {}
outputs: {}
"""


async def begun(page: Page, studio: Studio, text: str, name: str = "sums") -> str:
    """The page of a new draft, and the path of the draft."""
    await page.set_viewport_size(TALL)
    await page.goto(studio.url)
    await expect(page.get_by_role("link", name=re.compile("Workflows|工作流"))).to_be_visible()
    await api(page, "POST", f"/v1/workflows/{name}/draft", {"text": text, "revision": 0})
    await page.goto(page.url.partition("/chat")[0] + f"/workflows/{name}")
    await expect(page.get_by_role("region", name=re.compile("Canvas|画布"))).to_be_visible()
    return f"/v1/workflows/{name}/draft"


async def saved_text(page: Page, draft: str) -> str:
    """The text that is kept of the draft, once the page says that it is."""
    await expect(page.get_by_role("status").filter(has_text=SAVED)).to_be_visible()
    return str((await api(page, "GET", draft))["text"])


async def saved(page: Page, draft: str) -> dict[str, Any]:
    """The same, read."""
    found = yaml.safe_load(await saved_text(page, draft))
    assert isinstance(found, dict)
    return found


class Keys:
    """A person who has no mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def to(self, wanted: Locator) -> None:
        """Go on by Tab until this has the focus."""
        await expect(wanted).to_be_visible()
        for _ in range(120):
            if await wanted.evaluate("each => each === document.activeElement"):
                return
            await self.page.keyboard.press("Tab")
        raise AssertionError(f"no Tab leads to {wanted}")

    async def press(self, name: str) -> None:
        """Press a button."""
        await self.to(self.page.get_by_role("button", name=name, exact=True))
        await self.page.keyboard.press("Enter")

    async def write(self, name: str, text: str) -> None:
        """Write into a field of the node."""
        field = self.page.get_by_role("complementary", name="Node").get_by_label(name, exact=True)
        await self.to(field)
        await self.page.keyboard.press("Control+a")
        await self.page.keyboard.type(text)

    async def pick(self, words: str) -> None:
        """Pick an option of the dialog that has just opened."""
        await expect(self.page.get_by_role("dialog").get_by_role("combobox")).to_be_focused()
        await self.page.keyboard.type(words)
        await expect(self.page.get_by_role("dialog").get_by_role("option").first).to_contain_text(words)
        await self.page.keyboard.press("Enter")
        await expect(self.page.get_by_role("dialog")).to_have_count(0)

    async def choose(self, node: str) -> None:
        """Choose a node in the outline, and go to its form."""
        tree = self.page.get_by_role("tree", name="Outline")
        await self.to(tree.locator("[tabindex='0'], [data-active-item]").first)
        await self.page.keyboard.press("Home")
        item = tree.get_by_role("treeitem", name=re.compile(f"^{node},"))
        for _ in range(20):
            if await item.get_attribute("aria-selected") == "true":
                break
            await self.page.keyboard.press("ArrowDown")
        await expect(item).to_have_attribute("aria-selected", "true")
        await self.page.keyboard.press("Enter")
        await expect(self.page.get_by_role("textbox", name="name", exact=True)).to_have_value(node)
        await expect(self.page.get_by_role("textbox", name="name", exact=True)).to_be_focused()


async def test_the_keyboard_alone_builds_runs_and_publishes_a_flow_with_a_branch_a_join_and_a_loop(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    draft, keys = await begun(page, studio, EMPTY), Keys(page)
    name = page.get_by_role("textbox", name="name", exact=True)

    await keys.press("Add node")
    await is_accessible_in_both_themes(page, "light")
    await keys.pick("if")
    await expect(name).to_be_focused()
    await keys.write("name", "many")
    await keys.write("cases", '[{"port": "yes", "when": "inputs.times > 2"}]')
    await keys.press("Add after")
    await keys.pick("say")
    await keys.write("name", "lots")
    await keys.write("text", "Many")
    await keys.choose("many")
    await keys.press("Connect")
    await expect(page.get_by_role("option", name="port yes to lots")).to_have_count(0)  # it is there already
    await page.keyboard.press("Escape")
    await keys.press("Add node")
    await keys.pick("say")
    await keys.write("name", "few")
    await keys.write("text", "Few")
    await keys.choose("many")
    await keys.press("Connect")
    await keys.pick("port else to few")
    await keys.choose("few")
    await keys.press("Add after")
    await keys.pick("loop")
    await keys.write("name", "again")
    await keys.write("until", "vars.count >= inputs.times")
    await keys.write("vars", '{"count": 0}')
    await keys.write("output", "${add.output}")
    await keys.choose("lots")
    await keys.press("Connect")
    await keys.pick("again")  # the join
    await keys.choose("again")
    await keys.press("Add inside")
    await keys.pick("set")
    await keys.write("name", "add")
    await keys.write("add", '{"count": 1}')
    await keys.press("Add node")
    await keys.pick("say")
    await keys.write("name", "tell")
    await keys.write("text", "Pass ")
    await page.keyboard.press("Escape")
    inside = (await saved(page, draft))["nodes"]
    assert [*inside] == ["many", "lots", "few", "again"]
    assert [*inside["again"]["nodes"]] == ["add", "tell"]  # what is added beside a node stands in its container
    await keys.press("Move into")
    await keys.pick("the workflow itself")
    await expect(page.get_by_role("treeitem", name="tell, say")).to_have_attribute("aria-level", "1")
    await keys.choose("tell")
    await keys.press("Move into")
    await keys.pick("again")
    await expect(page.get_by_role("treeitem", name="tell, say")).to_have_attribute("aria-level", "2")
    await keys.choose("add")
    await keys.press("Connect")
    await keys.pick("tell")
    await keys.choose("tell")
    await keys.to(page.get_by_role("textbox", name="text"))
    await page.keyboard.press("End")
    await keys.press("Insert value")
    await keys.pick("index")
    await keys.choose("few")
    await keys.to(page.get_by_role("list", name="Connections").get_by_role("button", name="Disconnect").last)
    await page.keyboard.press("Enter")
    found = await saved(page, draft)
    assert found["edges"] == ["many.yes > lots", "many.else > few", "lots > again"]
    await keys.press("Undo")
    await keys.press("Redo")
    await keys.press("Undo")
    text = await saved_text(page, draft)
    found = yaml.safe_load(text)
    assert found["edges"] == ["many.yes > lots", "many.else > few", "few > again", "lots > again"]
    assert found["nodes"]["again"]["nodes"]["tell"] == {"type": "say", "text": "Pass ${index}"}
    assert found["nodes"]["again"]["edges"] == ["add > tell"]
    assert "# Sums of Ada" in text
    assert "# how often" in text
    await expect(page.get_by_text("Nothing is wrong with it.")).to_be_visible()
    await is_accessible_in_both_themes(page, "light")

    await keys.press("Run")
    await is_accessible_in_both_themes(page, "light")
    await keys.to(page.get_by_role("dialog").get_by_role("textbox", name="times"))
    await page.keyboard.type("3")
    await keys.press("Start")
    await expect(page.get_by_role("treeitem", name=re.compile("^few, say, skipped$"))).to_be_visible()
    await expect(page.get_by_role("treeitem", name=re.compile("^tell, say, 3 passes, .*done$"))).to_be_visible()
    (ran,) = await runs(page, "kind=workflow")
    assert (ran["draft"], ran["status"]) == ("workflow/sums", "done")
    await keys.choose("lots")
    await keys.press("Run this node")
    await keys.press("Start")
    await expect(page.get_by_role("region", name="What came out")).to_contain_text("Many")
    publish = page.get_by_role("button", name="Publish")
    await expect(publish).to_have_attribute("aria-disabled", "false")
    await keys.press("Publish")
    await expect(page.get_by_text("Version 1 is in use.").first).to_be_visible()
    assert [each["name"] for each in await listed(page, "/v1/workflows?query=sums")] == ["sums"]
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


DESK = """actum: workflow/1
name: desk
description: Adds.
inputs: {type: object, properties: {}}
nodes:
  first: {type: say, text: "One"} # the beginning
  ask: {type: human, message: "Go on?"}
  last: {type: say, text: "Two"}
edges: [first > ask]
view: {first: [0, 0], ask: [260, 0], last: [520, 120]}
"""


async def drag(page: Page, source: Locator, to: tuple[float, float]) -> None:
    """Drag from the middle of an element to a place, as a hand does."""
    box = await source.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await page.mouse.down()
    for share in (0.3, 0.7, 1.0):
        x, y = box["x"] + (to[0] - box["x"]) * share, box["y"] + (to[1] - box["y"]) * share
        await page.mouse.move(x, y)
    await page.mouse.up()


async def middle(element: Locator) -> tuple[float, float]:
    box = await element.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


TRIP = """# A trip
actum: workflow/1
name: trip
nodes:
  first: {type: say, text: One} # says hello
  round:
    type: loop
    max: 3
    nodes:
      inner: {type: say, text: Two}
    edges: []
  last: {type: say, text: Three}
edges:
  - first > round
  - round > last
"""


async def test_a_node_is_dragged_into_a_container_and_out_of_it_and_what_it_held_stays(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    draft = await begun(page, studio, TRIP, "trip")
    canvas = page.get_by_role("region", name="Canvas")
    boxes = {each: canvas.locator(f".react-flow__node[data-id='{each}']") for each in ("first", "round", "round/inner")}
    await expect(boxes["round/inner"]).to_be_visible()

    x, y = await middle(boxes["round/inner"])
    await drag(page, boxes["round/inner"].locator(".step-type"), (x + 90, y + 30))  # not out of it: it grows
    assert [*(await saved(page, draft))["nodes"]["round"]["nodes"]] == ["inner"]
    await page.get_by_role("button", name="Undo").click()
    x, y = await middle(boxes["round"])
    await drag(page, boxes["first"].locator(".step-type"), (x, y + 20))
    text = await saved_text(page, draft)
    found = yaml.safe_load(text)
    assert [*found["nodes"]["round"]["nodes"]] == ["inner", "first"]
    assert found["edges"] == ["round > last"]
    assert ("# says hello" in text, len(found["view"]["round/first"])) == (True, 2)
    within = canvas.locator(".react-flow__node[data-id='round/first']")
    await expect(page.get_by_role("treeitem", name="first, say")).to_have_attribute("aria-selected", "true")
    await page.get_by_role("button", name="Undo").click()
    assert await saved_text(page, draft) == TRIP  # one step, to the byte
    await page.get_by_role("button", name="Redo").click()
    await expect(within).to_be_visible()
    await drag(page, within.locator(".step-type"), (x, y + 420))
    found = await saved(page, draft)
    assert [*found["nodes"]["round"]["nodes"]] == ["inner"]
    assert [*found["nodes"]] == ["round", "last", "first"]
    assert "round/first" not in found["view"]
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


async def test_a_hand_draws_two_tabs_come_together_and_an_old_run_is_drawn_on_its_version(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "en-GB")
    draft = await begun(page, studio, DESK, "desk")
    canvas = page.get_by_role("region", name="Canvas")
    step = {each: canvas.locator(".step").filter(has_text=each) for each in ("first", "ask", "last")}
    await expect(step["last"]).to_be_visible()

    out = step["ask"].locator(".react-flow__handle-right").first
    await drag(page, out, await middle(step["last"].locator(".react-flow__handle-left")))
    assert (await saved(page, draft))["edges"] == ["first > ask", "ask > last"]
    await drag(page, out, await middle(step["first"].locator(".react-flow__handle-left")))  # a cycle: it is not legal
    x, y = await middle(step["last"])
    await drag(page, step["last"].locator(".react-flow__handle-right"), (x, y + 160))
    await expect(page.get_by_role("dialog", name="Add node")).to_be_visible()
    await page.get_by_role("combobox", name="Search nodes").fill("end")
    await page.get_by_role("option", name=re.compile("^end ")).click()
    assert (await saved(page, draft))["edges"] == ["first > ask", "ask > last", "last > end"]
    await drag(page, step["first"].locator(".step-type"), (x, y - 200))
    view = (await saved(page, draft))["view"]
    assert (view["first"] == [0, 0], view["ask"] == [260, 0]) == (False, True), view
    for _ in range(3):
        await page.get_by_role("button", name="Undo").click()
    assert await saved_text(page, draft) == DESK  # to the byte
    for _ in range(2):
        await page.get_by_role("button", name="Redo").click()
    await is_accessible_in_both_themes(page, "light")
    await fits(page)
    await page.set_viewport_size(TALL)

    publish = page.get_by_role("button", name="Publish")
    await expect(publish).to_have_attribute("aria-disabled", "false")
    await publish.click()
    await expect(page.get_by_text("Version 1 is in use.").first).to_be_visible()
    began = await api(page, "POST", "/v1/workflows/desk/run", {"inputs": {}})

    other = await page.context.new_page()
    await other.set_viewport_size(TALL)
    await other.goto(page.url)
    await other.get_by_role("treeitem", name="first, say").click()
    held = await Held.at(other, f"{draft}$")
    await other.get_by_role("textbox", name="text").fill("Zero")
    await held.has_come()
    await page.get_by_role("treeitem", name="last, say").click()
    await page.get_by_role("textbox", name="text").fill("Three")
    assert "Three" in await saved_text(page, draft)
    held.let.set()
    both = (await saved(other, draft))["nodes"]
    assert (both["first"]["text"], both["last"]["text"]) == ("Zero", "Three")
    assert "# the beginning" in await saved_text(other, draft)
    await page.get_by_role("treeitem", name="first, say").click()
    await expect(page.get_by_role("textbox", name="text")).to_have_value("Zero")  # a tab is told of the other's change
    await expect(page.get_by_text("has changed this draft elsewhere")).to_be_visible()
    held = await Held.at(page, f"{draft}$")
    await page.get_by_role("textbox", name="text").fill("Mine")
    await held.has_come()
    await other.get_by_role("textbox", name="text").fill("Naught")
    assert "Naught" in await saved_text(other, draft)
    held.let.set()
    both_sides = page.get_by_role("dialog", name="Changed elsewhere")
    await expect(both_sides.get_by_role("region", name="first")).to_contain_text(re.compile("Mine.*Naught", re.DOTALL))
    await expect(both_sides).not_to_contain_text("Three")  # which both have
    await is_accessible_in_both_themes(page, "light")
    await expect(page.get_by_text(SAVED)).to_have_count(0)
    await both_sides.get_by_role("button", name="Take theirs").click()
    await expect(page.get_by_role("textbox", name="text")).to_have_value("Naught")
    held = await Held.at(page, f"{draft}$")
    await page.get_by_role("textbox", name="text").fill("Mine")
    await held.has_come()
    await other.get_by_role("textbox", name="text").fill("Again")
    assert "Again" in await saved_text(other, draft)
    held.let.set()
    await both_sides.get_by_role("button", name="Keep mine").click()
    kept = (await saved(page, draft))["nodes"]
    assert (kept["first"]["text"], kept["last"]["text"]) == ("Mine", "Three")

    await expect(publish).to_have_attribute("aria-disabled", "false")
    await publish.click()
    await expect(page.get_by_text("Version 2 is in use.").first).to_be_visible()
    await page.get_by_role("region", name="Runs").get_by_role("button").first.click()
    await expect(page.get_by_text("is shown on the definition with which it began")).to_be_visible()
    await expect(page.get_by_role("treeitem", name=re.compile("^ask, human, waiting$"))).to_be_visible()
    await page.get_by_role("treeitem", name=re.compile("^last, say")).click()
    await expect(page.get_by_role("textbox", name="text")).to_have_value("Two")
    answer = page.get_by_role("region", name="Run", exact=True).get_by_role("button", name="Answer")
    await expect(answer).to_have_attribute("aria-disabled", "false")
    await answer.click()
    await expect(page.get_by_role("treeitem", name=re.compile("^last, say, .*done$"))).to_be_visible()
    (ran,) = await runs(page, "kind=workflow")
    assert (ran["id"], ran["status"], ran["draft"]) == (began["id"], "done", "")
    spans = (await api(page, "GET", f"/v1/runs/{ran['id']}/timeline"))["spans"]
    assert isinstance(spans, list)
    (came,) = [each["result"] for each in spans if isinstance(each, dict) and each["name"] == "last"]
    assert "Two" in str(came)
    await page.get_by_role("button", name="Back to the draft").click()

    await page.get_by_role("button", name="Versions").click()
    versions = page.get_by_role("region", name="Versions")
    await versions.get_by_role("button", name="1", exact=True).click()
    await expect(versions).to_contain_text("Three")
    roll_back = versions.get_by_role("button", name="Roll back")
    await expect(roll_back).to_have_attribute("aria-disabled", "false")
    await roll_back.click()
    await expect(page.get_by_text("Version 3 is in use.").first).to_be_visible()
    assert [each["number"] for each in await listed(page, "/v1/workflows/desk/versions")] == [3, 2, 1]
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


async def test_workflows_of_strangers_are_shown_as_text_and_problems_lead_to_their_field_in_both_languages(
    studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "zh-CN")
    hostile = {
        "actum": "workflow/1",
        "name": "sums",
        "description": HOSTILE,
        "nodes": {
            "__proto__": {"type": "say", "title": HOSTILE, "text": HOSTILE},
            "constructor": {
                "type": "tool",
                "tool": "<img src=x onerror=window.taken=1>",
                "with": {"__proto__": HOSTILE},
                "on_error": LINE,
            },
            "find": {"type": "if", "cases": [{"port": "<b>", "when": "true"}]},
        },
        "edges": ["__proto__ > constructor", HOSTILE],
    }
    draft = await begun(page, studio, json.dumps(hostile))
    await page.get_by_role("treeitem", name="__proto__, say").click()
    await expect(page.get_by_role("complementary", name="节点")).to_contain_text("say")
    await is_unharmed(page)
    problems = page.get_by_role("list", name="问题")
    await problems.get_by_role("button", name="on_error").click()
    await expect(page.get_by_role("textbox", name="on_error")).to_be_focused()
    await page.get_by_role("textbox", name="name", exact=True).fill("constructed")
    await page.get_by_role("textbox", name="name", exact=True).press("Enter")
    await expect(page.get_by_role("treeitem", name="constructed, tool")).to_be_visible()
    found = await saved(page, draft)
    assert [*found["nodes"]] == ["__proto__", "constructed", "find"]
    assert found["edges"][0] == "__proto__ > constructed"
    assert found["nodes"]["__proto__"]["title"] == HOSTILE
    await is_accessible_in_both_themes(page, "light")
    for name in ("添加节点", "撤销", "重做", "整理", "源代码", "运行", "发布", "版本", "删除"):
        await expect(page.get_by_role("button", name=name, exact=True).first).to_be_visible()
    await page.get_by_role("button", name="发布").click()
    await expect(page.get_by_role("alert").first).to_be_visible()
    assert (await api(page, "GET", draft))["published"] == 0
    await page.get_by_role("button", name="源代码").click()
    many = "".join(f"  n{place}: {{type: say, text: x}}\n" for place in range(2_000))
    await page.get_by_role("textbox", name="定义").press("Control+a")
    await pasted(page, f"actum: workflow/1\nname: sums\nnodes:\n{many}")
    await expect(page.get_by_text("这个工作流太大，无法画出")).to_be_visible()
    assert "n1999" in await saved_text(page, draft)
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]


PART = "actum: workflow/1\nname: part\nnodes: {tell: {type: say, text: Hi}}\n"


@pytest.fixture
def with_models(tmp_path: Path) -> None:
    """The person's settings have a model, an agent that is also called as a model, and a workflow."""
    models = '[models.fast]\nupstreams = ["http://127.0.0.1:9/v1#big"]\n[models.o3]\nagent = "desk"\n'
    workflow = '[workflows.plus]\nfile = "plus.yaml"\n'
    (tmp_path / "actum.toml").write_text(f"{models}{workflow}[agents.desk]\ntools = []\n", "utf-8")
    (tmp_path / "plus.yaml").write_text("actum: workflow/1\nname: plus\nnodes: {}\n", "utf-8")


async def test_the_form_of_a_node_offers_the_models_of_the_settings_and_knows_the_version_of_a_tool(
    with_models: None, studio: Studio, browser: Browser, watched: Watched
) -> None:
    page = await watched.page(browser, studio, "zh-CN")
    draft = await begun(page, studio, "actum: workflow/1\nname: flow\nnodes: {}\n", "flow")
    for revision, argument in enumerate(("city", "town")):
        text = json.dumps({"name": "look", "parameters": {argument: "string"}, "python": f"def main({argument}): pass"})
        await api(page, "POST", "/v1/tools/look/draft", {"text": text, "revision": revision})
        await api(page, "POST", "/v1/tools/look/publish", {})
    for kind, name, words in (("agents", "helper", '{"name": "helper"}'), ("workflows", "part", PART)):
        await api(page, "POST", f"/v1/{kind}/{name}/draft", {"text": words, "revision": 0})
        await api(page, "POST", f"/v1/{kind}/{name}/publish", {})
    asks = "{type: model, model: fats, prompt: Hi}"
    calls = "hand: {type: agent, agent: desk, task: Hi}, go: {type: workflow, workflow: plus}"
    text = f"actum: workflow/1\nname: flow\nnodes: {{ask: {asks}, see: {{type: tool, tool: look@1}}, {calls}}}\n"
    await api(page, "POST", draft, {"text": text, "revision": 1})
    problems = page.get_by_role("list", name="问题")
    await problems.get_by_role("button", name="ask：没有模型 'fats'").click()
    node = page.get_by_role("complementary", name="节点")
    model = node.get_by_role("combobox", name="model")
    await expect(model).to_be_focused()
    offered = node.locator("datalist option")
    await expect(offered).to_have_count(1)  # and no agent
    assert await offered.get_attribute("value") == "fast"
    await model.fill("fast")
    for problem, field, offered_now, chosen in (
        ("hand：没有智能体 'desk'", "agent", ["helper", "part"], "helper"),
        ("go：没有工作流 'plus'", "workflow", ["part"], "part"),
    ):
        await problems.get_by_role("button", name=problem).click()
        named = node.get_by_role("combobox", name=field)
        await expect(named).to_be_focused()
        await expect(offered).to_have_count(len(offered_now))
        assert [await each.get_attribute("value") for each in await offered.all()] == offered_now
        await named.fill(chosen)
    await problems.get_by_role("button", name="see：look 需要 'city'").click()
    await node.get_by_role("textbox", name="city").fill("Oslo")
    tools = [str(await each.get_attribute("value")) for each in await offered.all()]
    assert {"look", "part"} <= {*tools}
    assert not {"plus", "flow", "desk"} & {*tools}
    await expect(page.get_by_text("没有问题。")).to_be_visible()
    see = (await saved(page, draft))["nodes"]["see"]
    assert see == {"type": "tool", "tool": "look@1", "with": {"city": "Oslo"}}
    watched.errors[:] = [each for each in watched.errors if not any(code in each for code in EXPECTED)]
