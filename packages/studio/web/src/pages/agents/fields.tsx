// The form of an agent: each field writes its part of the text.
import { useQueries, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";

import { useSession } from "../../app";
import { bareName, COLLECTION, LIMITS, withField, withLimit, type AgentForm } from "../../core/agent";
import { ask, askAll, orNull } from "../../core/api";
import { useText } from "../../core/language";
import { brief, told } from "../../core/shown";
import type { Collection, Part, Tool, ToolSchema } from "../../core/types";
import { Failure } from "../../parts/failure";
import { TextFilter } from "../../parts/filters";
import { useModels } from "../../parts/models";
import { TEXTS } from "./texts";

/** Up to so many tools, nobody has to look for one. */
const FEW = 20;

interface Given {
  form: AgentForm;
  text: string;
  write: (text: string) => void;
}

export function Fields(given: Given) {
  const { form, text, write } = given;
  const say = useText(TEXTS);
  return (
    <>
      <label>
        {say("about")}
        <input data-field="description" value={form.description} onChange={(event) => write(withField(text, "description", event.target.value))} />
      </label>
      <ModelField {...given} />
      <label>
        {say("instructions")}
        <textarea
          data-field="instructions"
          rows={6}
          placeholder={say("instructionsHint")}
          value={form.instructions}
          onChange={(event) => write(withField(text, "instructions", event.target.value))}
        />
      </label>
      {form.prompt && <p className="hint">{say("prompt", { name: told(form.prompt) })}</p>}
      <ToolFields {...given} />
      <CollectionFields {...given} />
      <fieldset data-field="limits" tabIndex={-1}>
        <legend>{say("limits")}</legend>
        {LIMITS.map((each) => (
          <label key={each} className="limit">
            {say(each)}
            <input
              type="number"
              min={1}
              value={form.limits[each] ?? ""}
              onChange={(event) => write(withLimit(text, each, event.target.value ? event.target.valueAsNumber : undefined))}
            />
          </label>
        ))}
        <p className="hint">{say("limitsHint")}</p>
      </fieldset>
    </>
  );
}

function ModelField({ form, text, write }: Given) {
  const say = useText(TEXTS);
  const models = useModels();
  const names = [...new Set([...(models.data ?? []), ...(form.model ? [form.model] : [])])];
  return (
    <>
      <label>
        {say("model")}
        <select data-field="model" value={form.model} onChange={(event) => write(withField(text, "model", event.target.value))}>
          <option value="">{say("ownModel")}</option>
          {names.map((each) => (
            <option key={each} value={each}>
              {told(each)}
            </option>
          ))}
        </select>
      </label>
      {models.isError && <Failure error={models.error} />}
    </>
  );
}

/** A checkbox for each tool: those of the agent, and those that are found. */
function ToolFields({ form, text, write }: Given) {
  const say = useText(TEXTS);
  const [words, find] = useState("");
  const found = useQuery({
    queryKey: ["tools", "to tick", words],
    queryFn: ({ signal }) => ask<Part<Tool>>("GET", "/v1/tools", { signal, query: { query: words, limit: 100 } }),
    placeholderData: (before) => before,
  });
  const listed = found.data?.items ?? [];
  const others = form.tools.filter((each) => !each.startsWith(COLLECTION) && !listed.some((tool) => tool.name === bareName(each)));
  const looked = useQueries({
    queries: others.map((each) => ({
      queryKey: ["tool", bareName(each)],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        ask<ToolSchema>("GET", `/v1/tools/${encodeURIComponent(bareName(each))}`, { signal }).catch(orNull),
      enabled: found.isSuccess,
    })),
  });
  const tick = (name: string, isTicked: boolean) => {
    const kept = form.tools.filter((each) => (isTicked ? each : each !== name && bareName(each) !== name));
    write(withField(text, "tools", isTicked ? [...kept, name] : kept));
  };
  return (
    <fieldset data-field="tools" tabIndex={-1} className="tools">
      <legend>{say("tools")}</legend>
      {(words || listed.length > FEW) && <TextFilter type="search" label={say("findTool")} value={words} onChange={find} />}
      {others.map((each, place) => (
        <Tick key={each} name={each} isTicked note={brief(looked[place]?.data?.description ?? "", 160)} warning={looked[place]?.data === null ? say("missing", { name: told(each) }) : ""} onTick={tick} />
      ))}
      {listed.map((each) => (
        <Tick key={each.name} name={each.name} isTicked={form.tools.some((tool) => bareName(tool) === each.name)} note={brief(each.description, 160)} onTick={tick} />
      ))}
      {found.isSuccess && listed.length + others.length === 0 && <p className="hint">{say("noTools")}</p>}
      {found.isError && <Failure error={found.error} onRetry={() => void found.refetch()} />}
    </fieldset>
  );
}

/** A checkbox for each collection of documents that the person may read, and how answers are held to them. */
function CollectionFields({ form, text, write }: Given) {
  const say = useText(TEXTS);
  const { data: session } = useSession();
  const found = useQuery({
    queryKey: ["collections", "to tick"],
    queryFn: ({ signal }) => askAll<Collection>("/v1/knowledge", { signal }).catch(orNull),
    enabled: session?.features.includes("knowledge") ?? false,
  });
  const ticked = form.tools.filter((each) => each.startsWith(COLLECTION)).map((each) => each.slice(COLLECTION.length));
  const listed = found.data?.items.map((each) => each.name) ?? [];
  const names = [...listed, ...ticked.filter((each) => !listed.includes(each))];
  if (names.length === 0) return null;
  const tick = (name: string, isTicked: boolean) => {
    const kept = form.tools.filter((each) => each !== COLLECTION + name);
    write(withField(text, "tools", isTicked ? [...kept, COLLECTION + name] : kept));
  };
  return (
    <fieldset className="tools">
      <legend>{say("collections")}</legend>
      {names.map((each) => (
        <Tick key={each} name={each} isTicked={ticked.includes(each)} note="" onTick={tick} />
      ))}
      <label>
        {say("cite")}
        <select data-field="cite" value={form.cite} onChange={(event) => write(withField(text, "cite", event.target.value))}>
          {(["", "mark", "strict"] as const).map((each) => (
            <option key={each} value={each}>
              {say(`cite_${each || "off"}`)}
            </option>
          ))}
        </select>
      </label>
    </fieldset>
  );
}

function Tick(props: { name: string; isTicked: boolean; note: string; warning?: string; onTick: (name: string, isTicked: boolean) => void }) {
  const note = useId();
  return (
    <div className="tick">
      <label>
        <input type="checkbox" aria-describedby={note} checked={props.isTicked} onChange={(event) => props.onTick(props.name, event.target.checked)} />
        {told(props.name)}
      </label>
      <p id={note} className={props.warning ? "warning" : "hint"}>
        {props.warning || props.note}
      </p>
    </div>
  );
}
