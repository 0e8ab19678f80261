// A file that was exported here, or one of Dify or Coze: read by the server, looked at, and kept as a draft that has the report of what did not come over.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { ask } from "../../core/api";
import { chunk } from "../../core/chunk";
import { base64Of } from "../../core/file";
import type { ReportLine } from "../../core/flow/report";
import { useText } from "../../core/language";
import { told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Draft, Imported } from "../../core/types";
import { Failure } from "../../parts/failure";
import { usePress } from "../../parts/press";
import { Value } from "../../parts/values";
import { TEXTS } from "./texts";

const LINES_MAX = 100;
const OWN = "actum";
const BYTES_MAX = 1_000_000;

export function Import({ file, onClose }: { file: File; onClose: () => void }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const read = useQuery({
    queryKey: ["import", file.name, file.size, file.lastModified],
    queryFn: async ({ signal }) => (await ownOf(file)) ?? ask<Imported>("POST", "/v1/workflows/import", { signal, body: { name: file.name, data: await base64Of(file) } }),
    staleTime: Infinity,
    gcTime: 0,
  });
  return (
    <section className="card" aria-label={say("import")} aria-live="polite">
      <h2>{told(file.name)}</h2>
      {read.isPending && <p className="hint">{common("loading")}</p>}
      {read.isError && (
        <>
          <Failure error={read.error} />
          <p className="hint">{say("importHint")}</p>
        </>
      )}
      {read.data && <Report imported={read.data} />}
      <div className="buttons">
        <button type="button" onClick={onClose}>
          {common("cancel")}
        </button>
      </div>
    </section>
  );
}

function Report({ imported }: { imported: Imported }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(imported.name);
  const { counts, settings } = imported;
  const lines = imported.lines as (ReportLine & { title: string })[]; // whose statuses are these three
  const create = usePress({
    mutationFn: async () => {
      const { withReport } = await chunk(() => import("../../core/flow/report")); // reads YAML, which no other list needs
      const text = withReport(imported.text, name, lines);
      return ask<Draft>("POST", `/v1/workflows/${encodeURIComponent(name)}/draft`, { body: { text, revision: 0 } });
    },
    onSuccess: () => void known.invalidateQueries({ queryKey: ["workflows"] }),
    then: (made) => navigate({ to: `/workflows/${encodeURIComponent(made.name)}` as string }),
  });
  return (
    <>
      {imported.format !== OWN && <p>{say("counts", { format: told(imported.format), ...counts })}</p>}
      <ul className="lines">
        {lines.slice(0, LINES_MAX).map((each, place) => (
          <li key={place}>
            <span>
              <strong>{say(`line_${each.status}`)}</strong> <span className="tool">{told(each.node || each.title)}</span> {told(each.field)}: {told(each.message)}
            </span>
          </li>
        ))}
      </ul>
      {lines.length > LINES_MAX && <p className="hint">{say("moreLines", { count: lines.length - LINES_MAX })}</p>}
      {settings && (
        <>
          <p>{say(imported.text ? "settings" : "onlySettings")}</p>
          <Value value={settings} />
        </>
      )}
      {imported.text && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate();
          }}
        >
          <label>
            {common("name")}
            <input required placeholder={say("nameHint")} value={name} onChange={(event) => setName(event.target.value)} />
          </label>
          <button type="submit" className="primary">
            {common("create")}
          </button>
          {create.isError && <Failure error={create.error} />}
        </form>
      )}
    </>
  );
}

/** A workflow of ours, such as Export writes; undefined for what the server has to read. */
async function ownOf(file: File): Promise<Imported | undefined> {
  const text = file.size > BYTES_MAX ? "" : await file.text();
  if (!/^[\s{]*"?actum"?\s*:\s*["']?workflow\/1\b/m.test(text)) return undefined;
  const [, name = ""] = /^\s*"?name"?\s*:\s*["']?([\w-]+)/m.exec(text) ?? [];
  return { name, format: OWN, text, settings: "", lines: [], counts: { same: 0, near: 0, open: 0, lost: 0 } };
}
