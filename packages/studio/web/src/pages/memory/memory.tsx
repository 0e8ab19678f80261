// What is remembered of this person: listed, searched, forgotten, switched off and on.
import { keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { ask } from "../../core/api";
import { usePreferences, useText } from "../../core/language";
import { cut, time, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { MemoryItem, MemoryPart, MemorySpace } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { Filters, TextFilter, TimeFilters, useFilters } from "../../parts/filters";
import { tell } from "../../parts/status";
import { Forget } from "./forget";
import { page } from "./page";
import { TEXTS } from "./texts";

const NAMES = ["query", "space", "kind", "since", "until"] as const;
const KINDS = ["turn", "fact", "preference"] as const;

export default function Memory() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const [filters, filter] = useFilters(NAMES);
  const query = useInfiniteQuery({
    queryKey: ["memories", filters],
    queryFn: ({ signal, pageParam }) =>
      ask<MemoryPart>("GET", "/v1/memories", { signal, query: { ...filters, limit: 50, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
  });
  const items = query.data?.pages.flatMap((each) => each.items);
  const spaces = query.data?.pages[0]?.spaces ?? [];
  return (
    <>
      <h1>{title}</h1>
      <p className="hint">{say("about")}</p>
      <Spaces spaces={spaces} />
      <Filters>
        <TextFilter type="search" label={common("search")} hint={say("words")} value={filters.query ?? ""} onChange={(text) => filter("query", text)} />
        <Choice name="space" values={spaces.map((each) => each.space)} shown={told} chosen={filters.space} onChange={filter} />
        <Choice name="kind" values={KINDS} shown={say} chosen={filters.kind} onChange={filter} />
        <TimeFilters since={filters.since} until={filters.until} onChange={filter} />
      </Filters>
      <Asked
        query={{ data: items, error: query.error, refetch: query.refetch }}
        empty={(found) => (found.length ? undefined : <p className="hint">{say(Object.keys(filters).length ? "noFit" : "empty")}</p>)}
      >
        {(found) => (
          <div className="wide">
            <table aria-label={title}>
              <thead>
                <tr>
                  {(["said", "forget", "kind", "space", "at"] as const).map((each) => (
                    <th key={each} scope="col">
                      {say(each)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {found.map((each) => (
                  <Row key={each.id} item={each} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Asked>
      {query.hasNextPage && (
        <button type="button" onClick={() => void query.fetchNextPage()}>
          {common("more")}
        </button>
      )}
    </>
  );
}

/** The memories of this person, each with a switch. */
function Spaces({ spaces }: { spaces: readonly MemorySpace[] }) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const act = useMutation({
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

function Row({ item }: { item: MemoryItem }) {
  const say = useText(TEXTS);
  const language = usePreferences((each) => each.language);
  const isTurn = item.type === "turn";
  const words = cut(told(item.said), 300).text;
  return (
    <tr>
      <td className="main">
        <span>{words}</span>
        {isTurn && item.answered && <p className="hint">{say("answered", { text: cut(told(item.answered), 200).text })}</p>}
        {!isTurn && item.until !== null && <p className="hint">{say("replaced")}</p>}
      </td>
      <td className="when">
        <Forget item={item} words={words} />
      </td>
      <td className="when">{say(isTurn ? "turn" : item.kind)}</td>
      <td>{told(item.space)}</td>
      <td className="when">
        <Link to={`/runs/${isTurn ? item.id : item.run}` as string}>{time(item.at, language)}</Link>
      </td>
    </tr>
  );
}

/** One of some values, or any. */
function Choice<N extends "space" | "kind", V extends string>(props: {
  name: N;
  values: readonly V[];
  shown: (value: V) => string;
  chosen: string | undefined;
  onChange: (name: N, value: string) => void;
}) {
  const say = useText(TEXTS);
  return (
    <label>
      {say(props.name)}
      <select value={props.chosen ?? ""} onChange={(event) => props.onChange(props.name, event.target.value)}>
        <option value="">{say("any")}</option>
        {props.values.map((each) => (
          <option key={each} value={each}>
            {props.shown(each)}
          </option>
        ))}
      </select>
    </label>
  );
}
