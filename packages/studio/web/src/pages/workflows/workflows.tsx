// The workflows that a person may run: a list with search, a new one by its name, and one workflow in full.
import { lazyRouteComponent, Link, useParams } from "@tanstack/react-router";
import { Suspense, useState } from "react";

import { useBuilds } from "../../app";
import { ask } from "../../core/api";
import { chunk } from "../../core/chunk";
import { newWorkflow, type Template, TEMPLATES } from "../../core/flow/templates";
import { useText } from "../../core/language";
import { brief, told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Draft, WorkflowLine } from "../../core/types";
import { FileButton, useDropping } from "../../parts/files";
import { useFilters } from "../../parts/filters";
import { ListPage, NewByName, useList } from "../../parts/list";
import { Import } from "./import";
import { page } from "./page";
import { TEXTS } from "./texts";

const WorkflowPage = lazyRouteComponent(() => chunk(() => import("./workflow")));

export default function WorkflowsOrWorkflow() {
  const { workflow } = useParams({ strict: false }) as { workflow?: string };
  const common = useText(COMMON);
  if (!workflow) return <List />;
  return (
    <Suspense fallback={<p className="hint">{common("loading")}</p>}>
      <WorkflowPage key={workflow} name={workflow} />
    </Suspense>
  );
}

function List() {
  const say = useText(TEXTS);
  const title = useText(page.title)("title");
  const builds = useBuilds();
  const [filters, filter] = useFilters(["query"] as const);
  const list = useList<WorkflowLine>(["workflows"], "/v1/workflows", { ...filters, drafts: builds });
  const [file, setFile] = useState<File>();
  const { dropping, isOver } = useDropping(([first]) => setFile(first));
  return (
    <div {...(builds ? dropping : {})} className="dropping" data-over={isOver}>
    <ListPage
      title={title}
      about={say("intro")}
      search={{ hint: say("words"), value: filters.query, onChange: (text) => filter("query", text) }}
      make={builds && { label: say("new"), form: <NewWorkflow />, more: <FileButton isOne label={say("import")} accept=".yml,.yaml,.json,.zip,.txt" onFiles={([first]) => setFile(first)} /> }}
      list={list}
      keyOf={(each) => each.name}
      empty={say(builds ? "empty" : "nothing")}
      columns={[
        [say("name"), (each) => <Link to={`/workflows/${encodeURIComponent(each.name)}` as string}>{told(each.name)}</Link>, "main"],
        [say("about"), (each) => brief(each.description, 160)],
        [say("version"), (each) => each.version || (each.digest === "" ? say("draft") : "")],
      ]}
    >
      {file && <Import key={`${file.name} ${file.lastModified}`} file={file} onClose={() => setFile(undefined)} />}
    </ListPage>
    </div>
  );
}

function NewWorkflow() {
  const say = useText(TEXTS);
  const [template, setTemplate] = useState<Template>("empty");
  const begin = (name: string) => ask<Draft>("POST", `/v1/workflows/${encodeURIComponent(name)}/draft`, { body: { text: newWorkflow(name, template), revision: 0 } });
  return (
    <NewByName hint={say("nameHint")} list="workflows" to="/workflows" begin={begin}>
      <label>
        {say("template")}
        <select value={template} onChange={(event) => setTemplate(event.target.value as Template)}>
          {TEMPLATES.map((each) => (
            <option key={each} value={each}>
              {say(`template_${each}`)}
            </option>
          ))}
        </select>
      </label>
    </NewByName>
  );
}
