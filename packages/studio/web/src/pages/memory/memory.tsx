// What is remembered of this person: listed, searched, forgotten, switched off and on.
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { ask } from "../../core/api";
import { usePreferences, useText } from "../../core/language";
import { brief, time, told } from "../../core/shown";
import type { MemoryItem, MemoryPart, MemorySpace } from "../../core/types";
import { Failure } from "../../parts/failure";
import { ChoiceFilter, TimeFilters, useFilters } from "../../parts/filters";
import { ListPage, useList } from "../../parts/list";
import { usePress } from "../../parts/press";
import { tell } from "../../parts/status";
import { Forget } from "./forget";
import { page } from "./page";
import { TEXTS } from "./texts";

const NAMES = ["query", "space", "kind", "since", "until"] as const;
const KINDS = ["turn", "fact", "preference"] as const;

export default function Memory() {
  const say = useText(TEXTS);
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const [filters, filter] = useFilters(NAMES);
  const list = useList<MemoryItem, MemoryPart>(["memories"], "/v1/memories", filters);
  const spaces = list.first?.spaces ?? [];
  return (
    <ListPage
      title={title}
      about={
        <>
          <p className="hint">{say("about")}</p>
          <Spaces spaces={spaces} />
        </>
      }
      search={{ hint: say("words"), value: filters.query, onChange: (text) => filter("query", text) }}
      filters={
        <>
          <ChoiceFilter label={say("space")} values={spaces.map((each) => each.space)} shown={told} chosen={filters.space} onChange={(value) => filter("space", value)} />
          <ChoiceFilter label={say("kind")} values={KINDS} shown={say} chosen={filters.kind} onChange={(value) => filter("kind", value)} />
          <TimeFilters since={filters.since} until={filters.until} onChange={filter} />
        </>
      }
      list={list}
      keyOf={(each) => each.id}
      empty={say(Object.keys(filters).length ? "noFit" : "empty")}
      columns={[
        [say("said"), (each) => <Said item={each} />, "main"],
        [say("forget"), (each) => <Forget item={each} words={wordsOf(each)} />, "when"],
        [say("kind"), (each) => say(each.type === "turn" ? "turn" : each.kind), "when"],
        [say("space"), (each) => told(each.space)],
        [say("at"), (each) => <Link to={`/runs/${each.type === "turn" ? each.id : each.run}` as string}>{time(each.at, language)}</Link>, "when"],
      ]}
    />
  );
}

/** The memories of this person, each with a switch. */
function Spaces({ spaces }: { spaces: readonly MemorySpace[] }) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const act = usePress({
    mutationFn: ({ space, on }: MemorySpace) => ask<MemorySpace>("PUT", "/v1/memories", { body: { space, on } }),
    onSuccess: ({ space, on }) => {
      tell(say(on ? "wasOn" : "wasOff", { space: told(space) }));
      return known.invalidateQueries({ queryKey: ["memories"] });
    },
  });
  return (
    <>
      <ul className="lines settings" aria-label={say("memories")}>
        {spaces.map(({ space, on }) => (
          <li key={space}>
            <span>
              <strong>{told(space)}</strong> {say(on ? "on" : "off")}
            </span>
            <button type="button" aria-label={say(on ? "nameOff" : "nameOn", { space: told(space) })} onClick={() => act.mutate({ space, on: !on })}>
              {say(on ? "switchOff" : "switchOn")}
            </button>
          </li>
        ))}
      </ul>
      {act.isError && <Failure error={act.error} />}
    </>
  );
}

function wordsOf(item: MemoryItem): string {
  return brief(item.said, 300);
}

function Said({ item }: { item: MemoryItem }) {
  const say = useText(TEXTS);
  return (
    <>
      <span>{wordsOf(item)}</span>
      {item.type === "turn" && item.answered && <p className="hint">{say("answered", { text: brief(item.answered, 200) })}</p>}
      {item.type !== "turn" && item.until !== null && <p className="hint">{say("replaced")}</p>}
    </>
  );
}
