// Experiments: a list of them, one with the cases that are not right, and two compared.
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";

import { ask } from "../../core/api";
import { usePreferences, useText } from "../../core/language";
import { time, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { ExperimentLine, Part } from "../../core/types";
import { Asked } from "../../parts/failure";
import { Compared } from "./comparison";
import { ExperimentPage } from "./experiment";
import { page } from "./page";
import { TEXTS } from "./texts";

/** How many experiments a part of the list has. */
const PART = 50;
/** An example of how an experiment is begun. */
const COMMAND = "actum eval run desk.jsonl --agent desk --name before";

export default function Evaluation() {
  const { experiment } = useParams({ strict: false }) as { experiment?: string };
  const { with: other } = useSearch({ strict: false }) as { with?: string };
  if (experiment && other) return <Compared one={experiment} other={String(other)} />;
  return experiment ? <ExperimentPage experiment={experiment} /> : <List />;
}

function List() {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const title = useText(page.title)("title");
  const navigate = useNavigate();
  const [chosen, choose] = useState<readonly ExperimentLine[]>([]);
  const query = useInfiniteQuery({
    queryKey: ["experiments"],
    queryFn: ({ signal, pageParam }) =>
      ask<Part<ExperimentLine>>("GET", "/v1/experiments", { signal, query: { limit: PART, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
  });
  const lines = query.data?.pages.flatMap((each) => each.items);
  const [before, after] = chosen.toSorted((one, other) => one.began - other.began);
  return (
    <>
      <h1>{title}</h1>
      <p className="hint">
        {say("about")} <code>{COMMAND}</code>
      </p>
      <Asked
        query={{ data: lines, error: query.error, refetch: query.refetch }}
        empty={(found) => (found.length || query.hasNextPage ? undefined : <p className="hint">{say("empty")}</p>)}
      >
        {(found) => (
          <>
            <form
              className="buttons"
              onSubmit={(event) => {
                event.preventDefault();
                if (before && after) void navigate({ to: `/evaluation/${before.experiment}` as string, search: { with: after.experiment } as never });
              }}
            >
              <button type="submit" className="primary" disabled={!after}>
                {say("compare")}
              </button>
              <span className="hint">{say("choose")}</span>
            </form>
            <div className="wide">
              <table aria-label={title}>
                <thead>
                  <tr>
                    {(["compare", "experiment", "agent", "cases", "began", "status"] as const).map((each) => (
                      <th key={each} scope="col">
                        {say(each)}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {found.map((each) => (
                    <Line
                      key={each.experiment}
                      line={each}
                      isChosen={chosen.some((other) => other.experiment === each.experiment)}
                      onChoose={(isChosen) => choose(isChosen ? [...chosen.slice(-1), each] : chosen.filter((other) => other.experiment !== each.experiment))}
                    />
                  ))}
                </tbody>
              </table>
            </div>
          </>
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

function Line({ line, isChosen, onChoose }: { line: ExperimentLine; isChosen: boolean; onChoose: (isChosen: boolean) => void }) {
  const say = useText(TEXTS);
  const language = usePreferences((each) => each.language);
  const name = told(line.name || line.experiment);
  return (
    <tr>
      <td>
        <input type="checkbox" aria-label={say("chooseThis", { name })} checked={isChosen} onChange={(event) => onChoose(event.target.checked)} />
      </td>
      <td className="main">
        <Link to={`/evaluation/${line.experiment}` as string}>{name}</Link>
      </td>
      <td>
        {told(line.agent)} <span className="hint">{told(line.model)}</span>
      </td>
      <td>{line.tries > 1 ? say("casesTries", { cases: line.cases, tries: line.tries }) : line.cases}</td>
      <td className="when">{time(line.began, language)}</td>
      <td className="when">
        <span className="state" data-state={line.is_over ? "done" : "interrupted"}>
          {say(line.is_over ? "over" : "notOver")}
        </span>
      </td>
    </tr>
  );
}
