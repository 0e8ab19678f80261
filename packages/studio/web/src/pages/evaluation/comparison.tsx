// Two experiments, case by case: how much better the later one is, how surely, and which cases changed.
import { useQuery } from "@tanstack/react-query";

import { ask } from "../../core/api";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import type { Comparison, Experiment, ScoreChange } from "../../core/types";
import { Asked } from "../../parts/failure";
import { Back, names, NONE, RunLink, Table, useNumbers } from "./parts";
import { TEXTS } from "./texts";

export function Compared({ one, other }: { one: string; other: string }) {
  const path = `/v1/experiments/${encodeURIComponent(one)}`;
  const query = useQuery({
    queryKey: ["comparison", one, other],
    queryFn: ({ signal }) => ask<Comparison>("GET", `${path}/comparison`, { signal, query: { with: other } }),
  });
  return (
    <>
      <Back />
      <h1>
        <Name experiment={one} /> → <Name experiment={other} />
      </h1>
      <Asked query={query}>{(found) => <Found found={found} />}</Asked>
    </>
  );
}

/** What an experiment is called; its id until that is known. */
function Name({ experiment }: { experiment: string }) {
  const found = useQuery({
    queryKey: ["experiment", experiment],
    queryFn: ({ signal }) => ask<Experiment>("GET", `/v1/experiments/${encodeURIComponent(experiment)}`, { signal }),
  });
  return told(found.data?.name || experiment);
}

function Found({ found }: { found: Comparison }) {
  const say = useText(TEXTS);
  const { share, points } = useNumbers();
  return (
    <>
      <p className="hint">{say("couldSee", { cases: found.cases, points: points(found.could_see, false) })}</p>
      {found.alone.length > 0 && <p className="hint">{say("alone", { cases: names(found.alone) })}</p>}
      {found.flaky.length > 0 && <p className="hint">{say("flaky", { cases: names(found.flaky) })}</p>}
      <Changes label={say("scores")} interval={say("interval")} scores={found.scores} />
      {Object.keys(found.tags).length > 0 && <Changes label={say("byTag")} interval={say("intervalTags")} scores={found.tags} />}
      <h2>{say("used")}</h2>
      <Used found={found} />
      <h2>{say("changed")}</h2>
      {found.changed.length === 0 ? (
        <p className="hint">{say("noneChanged")}</p>
      ) : (
        <Table label={say("changed")} heads={[say("case"), say("score"), say("change"), say("before"), say("after"), say("partsAt")]}>
          {found.changed.map((each) => (
            <tr key={`${each.case} ${each.score}`}>
              <td className="main">{told(each.case)}</td>
              <td>{told(each.score)}</td>
              <td className="when">
                <Verdict isBetter={each.b > each.a} isWorse={each.b < each.a} /> {share(each.a)} → {share(each.b)}
              </td>
              {each.runs.map((run, place) => (
                <td key={place}>
                  <RunLink run={run} />
                </td>
              ))}
              <td className="when">{each.parts_at === null ? NONE : <PartsAt {...each.parts_at} />}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}

/** The moments of a run: some stand alone, others name a tool or a node. */
const ALONE = ["model", "question", "end"] as const;
const NAMED = ["call", "node"] as const;

/** The first moment at which two runs part. */
function PartsAt({ what, step }: { what: string; step: number }) {
  const say = useText(TEXTS);
  const alone = ALONE.find((each) => each === what);
  const named = NAMED.find((each) => what.startsWith(`${each} `));
  const said = alone ? say(alone) : named ? say(named, { name: told(what.slice(named.length + 1)) }) : told(what);
  return say("partsAtStep", { what: said, step });
}

function Changes({ label, interval, scores }: { label: string; interval: string; scores: Record<string, ScoreChange> }) {
  const say = useText(TEXTS);
  const { share, points, chance } = useNumbers();
  const heads = [label, say("verdict"), say("before"), say("after"), say("difference"), interval, say("gainedLost"), say("chance")];
  return (
    <Table label={label} heads={heads}>
      {Object.entries(scores).map(([name, each]) => (
        <tr key={name}>
          <th scope="row">{told(name)}</th>
          <td>
            <Verdict isBetter={each.low > 0} isWorse={each.high < 0} />
          </td>
          <td>{share(each.a)}</td>
          <td>{share(each.b)}</td>
          <td>{points(each.difference)}</td>
          <td className="when">
            {points(each.low)} … {points(each.high)}
          </td>
          <td className="when">
            +{each.gained} −{each.lost}
          </td>
          <td>{chance(each.chance)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Verdict({ isBetter, isWorse }: { isBetter: boolean; isWorse: boolean }) {
  const say = useText(TEXTS);
  const state = isBetter ? "done" : isWorse ? "failed" : "skipped";
  return (
    <span className="state" data-state={state}>
      {say(isBetter ? "better" : isWorse ? "worse" : "unsure")}
    </span>
  );
}

/** What both used up. */
function Used({ found }: { found: Comparison }) {
  const say = useText(TEXTS);
  const { number } = useNumbers();
  const used = (["cost", "tokens", "seconds"] as const).map((name) => [name, found[name]] as const);
  return (
    <>
      <Table label={say("used")} heads={[say("used"), say("before"), say("after"), say("ratio"), say("interval")]}>
        {used.map(([name, each]) => (
          <tr key={name}>
            <th scope="row">{say(name)}</th>
            <td>{number(each.a)}</td>
            <td>{number(each.b)}</td>
            <td>{number(each.ratio)}</td>
            <td className="when">{each.ratio === null ? NONE : `${number(each.low)} … ${number(each.high)}`}</td>
          </tr>
        ))}
      </Table>
      {used.some(([, each]) => each.ratio === null) && <p className="hint">{say("noRatio")}</p>}
    </>
  );
}
