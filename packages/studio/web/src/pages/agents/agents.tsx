// The agents that a person may ask: a list with search, a new one by its name, and one agent in full.
import { Link, useParams } from "@tanstack/react-router";

import { useBuilds } from "../../app";
import { newAgent } from "../../core/agent";
import { ask } from "../../core/api";
import { useText } from "../../core/language";
import { brief, told } from "../../core/shown";
import type { Agent, Draft } from "../../core/types";
import { useFilters } from "../../parts/filters";
import { ListPage, NewByName, useList } from "../../parts/list";
import { AgentPage } from "./agent";
import { page } from "./page";
import { TEXTS } from "./texts";

export default function AgentsOrAgent() {
  const { agent } = useParams({ strict: false }) as { agent?: string };
  return agent ? <AgentPage key={agent} name={agent} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const title = useText(page.title)("title");
  const builds = useBuilds();
  const [filters, filter] = useFilters(["query"] as const);
  const list = useList<Agent>(["agents"], "/v1/agents", { ...filters, drafts: builds });
  return (
    <ListPage
      title={title}
      about={say("intro")}
      search={{ hint: say("words"), value: filters.query, onChange: (text) => filter("query", text) }}
      make={builds && { label: say("new"), form: <NewByName hint={say("nameHint")} list="agents" to="/agents" begin={begun} /> }}
      list={list}
      keyOf={(each) => each.name}
      empty={say(builds ? "empty" : "nothing")}
      columns={[
        [say("name"), (each) => <Link to={`/agents/${encodeURIComponent(each.name)}` as string}>{told(each.name)}</Link>, "main"],
        [say("about"), (each) => brief(each.description, 120)],
        [say("model"), (each) => told(each.model)],
        [say("version"), (each) => each.version || (each.description === "" && each.model === "" && builds ? say("draft") : "")],
      ]}
    />
  );
}

function begun(name: string): Promise<Draft> {
  return ask<Draft>("POST", `/v1/agents/${encodeURIComponent(name)}/draft`, { body: { text: newAgent(name), revision: 0 } });
}
