// The tools that a person may use: a list with search, one tool in full, and a new one out of what is pasted.
import { Link, useParams } from "@tanstack/react-router";

import { useBuilds } from "../../app";
import { useText } from "../../core/language";
import { brief, told } from "../../core/shown";
import type { Tool } from "../../core/types";
import { useFilters } from "../../parts/filters";
import { ListPage, useList } from "../../parts/list";
import { NewTool } from "./new";
import { page } from "./page";
import { SERVER, ServerPage, Servers } from "./servers";
import { TEXTS } from "./texts";
import { ToolPage } from "./tool";

export default function ToolsOrTool() {
  const { tool } = useParams({ strict: false }) as { tool?: string };
  if (tool?.startsWith(SERVER)) return <ServerPage key={tool} name={tool.slice(SERVER.length)} />;
  return tool ? <ToolPage key={tool} name={tool} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const title = useText(page.title)("title");
  const builds = useBuilds();
  const [filters, filter] = useFilters(["query"] as const);
  const list = useList<Tool>(["tools"], "/v1/tools", { ...filters, drafts: builds });
  return (
    <>
    <ListPage
      title={title}
      about={say("intro")}
      search={{ hint: say("words"), value: filters.query, onChange: (text) => filter("query", text) }}
      make={builds && { label: say("new"), form: <NewTool /> }}
      list={list}
      keyOf={(each) => each.name}
      empty={say(builds ? "empty" : "nothing")}
      columns={[
        [say("name"), (each) => <Link to={`/tools/${encodeURIComponent(each.name)}` as string}>{told(each.name)}</Link>, "main"],
        [say("about"), (each) => brief(each.description, 120)],
        [say("effects"), (each) => each.effects?.map((effect) => say(`does_${effect}`)).join(", ")],
        [say("source_of"), (each) => say(`from_${each.source ?? "settings"}`)],
        [say("version"), (each) => each.version || ""],
      ]}
    />
    {builds && <Servers />}
    </>
  );
}
