// One experiment: its scores, and the cases that are not right, each with its runs.
import { useQuery } from "@tanstack/react-query";

import { ask } from "../../core/api";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import type { State } from "../../core/texts";
import type { Experiment } from "../../core/types";
import { Asked } from "../../parts/failure";
import { useFilters } from "../../parts/filters";
import { StateText } from "../../parts/values";
import { Back, names, NONE, RunLink, Table, useNumbers } from "./parts";
import { TEXTS } from "./texts";

/** How long to wait before asking again, while an experiment goes on. */
const AGAIN_MS = 5_000;
/** With a greater share of failed tries than this, the scores say little. */
const FAILED_SHARE = 0.1;
/** A judge counts as checked when so many runs have a person's score as well. */
const CHECKED_MIN = 50;

export function ExperimentPage({ experiment }: { experiment: string }) {
  const query = useQuery({
    queryKey: ["experiment", experiment],
    queryFn: ({ signal }) => ask<Experiment>("GET", `/v1/experiments/${encodeURIComponent(experiment)}`, { signal }),
    refetchInterval: ({ state }) => (state.data && !state.data.is_over ? AGAIN_MS : false),
  });
  return (
    <>
      <Back />
      <Asked query={query}>{(found) => <Found found={found} />}</Asked>
    </>
  );
}

function Found({ found }: { found: Experiment }) {
  const say = useText(TEXTS);
  const { share } = useNumbers();
  const scores = Object.entries(found.scores);
  return (
    <>
      <h1>{told(found.name || found.experiment)}</h1>
      {found.failed > FAILED_SHARE * found.cases * found.tries && <p className="warning">{say("failsOften")}</p>}
      {!found.is_over && <p className="warning">{say("goOn")}</p>}
      <p className="hint">{say("asked", { agent: told(found.agent), cases: found.cases, tries: found.tries, failed: found.failed, denied: found.denied })}</p>
      {found.unrated.length > 0 && <p className="hint">{say("unrated", { cases: names(found.unrated) })}</p>}
      {found.flaky.length > 0 && <p className="hint">{say("flaky", { cases: names(found.flaky) })}</p>}
      {found.in_doubt.length > 0 && (
        <p className="warning">
          {say("inDoubt")} {found.in_doubt.map((run) => <RunLink key={run} run={run} />)}
        </p>
      )}
      {Object.entries(found.judges).map(([name, { both, kappa }]) => (
        <p key={name} className="hint">
          {both < CHECKED_MIN
            ? say("unchecked", { name, count: both })
            : say("agreed", { name, count: both, kappa: kappa === null ? NONE : kappa.toFixed(2) })}
        </p>
      ))}
      <Table label={say("scores")} heads={[say("score"), say("mean"), say("rated"), say("allRight")]}>
        {scores.map(([name, each]) => (
          <tr key={name}>
            <th scope="row">{told(name)}</th>
            <td>{share(each.mean)}</td>
            <td>{each.rated}</td>
            <td>{share(each.all_right)}</td>
          </tr>
        ))}
      </Table>
      <NotRight found={found} scores={scores.map(([name]) => name)} />
    </>
  );
}

/** The cases that have a score and are not right by it in all tries. */
function NotRight({ found, scores }: { found: Experiment; scores: string[] }) {
  const say = useText(TEXTS);
  const [{ score: chosen }, filter] = useFilters(["score"]);
  const score = chosen ?? scores[0] ?? "";
  const wrong = found.results.filter(({ tries }) => tries.some((each) => (each.scores[score] ?? 1) < 1));
  return (
    <section>
      <h2>{say("notRight")}</h2>
      {scores.length > 1 && (
        <label className="settings">
          {say("mainScore")}
          <select value={score} onChange={(event) => filter("score", event.target.value)}>
            {scores.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      )}
      {wrong.length === 0 ? (
        <p className="hint">{say("allAreRight")}</p>
      ) : (
        <Table label={say("notRight")} heads={[say("case"), say("tags"), say("runs")]}>
          {wrong.map((each) => (
            <tr key={each.case}>
              <td className="main">{told(each.case)}</td>
              <td>{names(each.tags)}</td>
              <td>
                {each.tries.map((tried) => (
                  <div key={tried.run}>
                    <RunLink run={tried.run} /> <StateText state={(tried.status || "interrupted") as State} /> {tried.scores[score] ?? NONE}
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
