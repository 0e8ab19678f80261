// Experiments: a list of them, one with the cases that are not right, and two compared.
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";

import { usePreferences, useText } from "../../core/language";
import { time, told } from "../../core/shown";
import type { ExperimentLine } from "../../core/types";
import { ListPage, useList } from "../../parts/list";
import { Compared } from "./comparison";
import { ExperimentPage } from "./experiment";
import { page } from "./page";
import { TEXTS } from "./texts";

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
  const title = useText(page.title)("title");
  const language = usePreferences((each) => each.language);
  const navigate = useNavigate();
  const [chosen, choose] = useState<readonly ExperimentLine[]>([]);
  const list = useList<ExperimentLine>(["experiments"], "/v1/experiments");
  const [before, after] = chosen.toSorted((one, other) => one.began - other.began);
  const others = (line: ExperimentLine) => chosen.filter((each) => each.experiment !== line.experiment);
  const name = (line: ExperimentLine) => told(line.name || line.experiment);
  return (
    <ListPage
      title={title}
      about={
        <p className="hint">
          {say("about")} <code>{COMMAND}</code>
        </p>
      }
      list={list}
      keyOf={(each) => each.experiment}
      empty={say("empty")}
      columns={[
        [
          say("compare"),
          (line) => (
            <input
              type="checkbox"
              aria-label={say("chooseThis", { name: name(line) })}
              checked={others(line).length < chosen.length}
              onChange={(event) => choose(event.target.checked ? [...chosen.slice(-1), line] : others(line))}
            />
          ),
        ],
        [say("experiment"), (line) => <Link to={`/evaluation/${line.experiment}` as string}>{name(line)}</Link>, "main"],
        [say("agent"), (line) => [told(line.agent), " ", <span key="model" className="hint">{told(line.model)}</span>]],
        [say("cases"), (line) => (line.tries > 1 ? say("casesTries", { cases: line.cases, tries: line.tries }) : line.cases)],
        [say("began"), (line) => time(line.began, language), "when"],
        [say("status"), (line) => <Status isOver={line.is_over} />, "when"],
      ]}
    >
      {list.items?.length ? (
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
      ) : null}
    </ListPage>
  );
}

function Status({ isOver }: { isOver: boolean }) {
  const say = useText(TEXTS);
  return (
    <span className="state" data-state={isOver ? "done" : "interrupted"}>
      {say(isOver ? "over" : "notOver")}
    </span>
  );
}
