// What each definition that is made here has: its text, whether it is saved, its problems, Publish, Versions, Delete.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState, type ReactNode, type Ref } from "react";

import { useBuilds } from "../app";
import { ask, orNull, Problem } from "../core/api";
import { dictionary, usePreferences, useText } from "../core/language";
import { time, told } from "../core/shown";
import type { Checked, DefinitionProblem, Difference, JustPublished, Part, Unpublished, Version } from "../core/types";
import { Dialog } from "./dialog";
import type { Writing } from "./draft";
import { Failure, useReason } from "./failure";
import { usePress } from "./press";
import { tell } from "./status";
import { useUnhurried } from "./unhurried";
import { Value } from "./values";

const TEXTS = dictionary(
  {
    saved: "Saved",
    saving: "Not saved yet…",
    unsaved: "Not saved: {why}",
    problems: "Problems",
    noProblems: "Nothing is wrong with it.",
    at: "line {line}: {message}",
    publish: "Publish",
    published: "Version {number} is in use.",
    remarks: "Nothing is wrong, but this is good to know:",
    unpublish: "Take out of use",
    delete: "Delete",
    uses: "Used by: {names}",
    usedBy: "It was used by {names}: they can not call it any more.",
    versions: "Versions",
    noVersions: "Nothing has been published yet.",
    rollback: "Roll back",
    shadowed: "Something of this name was published here as well. The settings of the server count, so the publication is not used.",
    inUse: "in use",
    differs: "What version {number} says otherwise than the draft",
    same: "Nothing differs.",
    added: "added",
    removed: "removed",
    changed: "changed",
    theirs: "Changed elsewhere",
    theirsTold: "Somebody else has changed the same meanwhile. Choose which counts.",
    restKept: "All other changes of both are kept.",
    takenOver: "{who} has changed this draft elsewhere: it is shown as it is now.",
    yours: "Yours",
    others: "Theirs",
    notThere: "not there",
    gone: "Somebody else has deleted this draft. Keep yours to save it anew.",
    mine: "Keep mine",
    take: "Take theirs",
  },
  {
    saved: "已保存",
    saving: "尚未保存…",
    unsaved: "未保存：{why}",
    problems: "问题",
    noProblems: "没有问题。",
    at: "第 {line} 行：{message}",
    publish: "发布",
    published: "正在使用版本 {number}。",
    remarks: "没有问题，但请注意：",
    unpublish: "停用",
    delete: "删除",
    uses: "使用者：{names}",
    usedBy: "以下内容使用过它，现在无法再调用：{names}。",
    versions: "版本",
    noVersions: "还没有发布过。",
    rollback: "回滚",
    shadowed: "这里也发布过同名的内容。以服务器的设置为准，因此不使用已发布的版本。",
    inUse: "使用中",
    differs: "版本 {number} 与草稿的差异",
    same: "没有差异。",
    added: "新增",
    removed: "移除",
    changed: "更改",
    theirs: "已在别处修改",
    theirsTold: "别人在此期间更改了同样的内容。请选择以哪一个为准。",
    restKept: "双方的其他更改都会保留。",
    takenOver: "{who} 在别处更改了这份草稿：现在显示的是最新内容。",
    yours: "我的",
    others: "对方的",
    notThere: "没有",
    gone: "别人删除了这份草稿。选择“保留我的”可重新保存。",
    mine: "保留我的",
    take: "采用对方的",
  },
);

/** What is asked for anew when something was published, or is not any more. */
const CHANGED = ["tool", "tools", "agent", "agents", "workflow", "workflows", "versions", "difference", "server", "servers", "offers"];

export function InUse({ number }: { number: number }) {
  return <p className="hint">{useText(TEXTS)("published", { number })}</p>;
}

/** Says that something was published under a name that the settings of the server have taken since. */
export function Shadowed({ path }: { path: string }) {
  const say = useText(TEXTS);
  const builds = useBuilds();
  const versions = useQuery({
    queryKey: ["versions", path],
    queryFn: ({ signal }) => ask<Part<Version>>("GET", `${path}/versions`, { signal }).catch(orNull),
    enabled: builds,
  });
  return versions.data?.items.length ? <p role="note">{say("shadowed")}</p> : null;
}

/** The text of a draft, as it is saved. */
export function Source({ label, draft, ref }: { label: string; draft: Writing; ref: Ref<HTMLTextAreaElement> }) {
  return (
    <label>
      {label}
      <textarea ref={ref} className="code" rows={14} spellCheck={false} value={draft.text ?? ""} onChange={(event) => draft.write(event.target.value)} />
    </label>
  );
}

/** Puts the focus on a line of a text. */
export function showLine(field: HTMLTextAreaElement | null, line: number): void {
  if (!field) return;
  const before = field.value.split("\n").slice(0, line - 1);
  const start = before.join("\n").length + (before.length ? 1 : 0);
  const end = field.value.indexOf("\n", start);
  field.focus();
  field.setSelectionRange(start, end < 0 ? field.value.length : end);
}

/** Whether a draft is saved, and what somebody else has made of it. "Saved" is told aloud only behind a failure. */
export function DraftState({ draft }: { draft: Writing }) {
  const say = useText(TEXTS);
  const why = useReason();
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    if (draft.error) setFailed(true);
    else if (!draft.isSaved) setFailed(false);
  }, [draft.error, draft.isSaved]);
  useEffect(() => {
    if (draft.taken) tell(say("takenOver", { who: told(draft.taken.by) }));
  }, [draft.taken]);
  return (
    <>
      <p role={draft.error ? "alert" : "status"} aria-live={draft.error ? "assertive" : hasFailed ? "polite" : "off"} className="hint">
        {draft.isSaved ? say("saved") : draft.error ? say("unsaved", { why: why(draft.error) }) : say("saving")}
      </p>
      {draft.theirs !== undefined && <ChangedElsewhere draft={draft} />}
    </>
  );
}

/** What both have changed, side by side: a person chooses, and nothing is overwritten before. */
function ChangedElsewhere({ draft }: { draft: Writing }) {
  const say = useText(TEXTS);
  return (
    <Dialog title={say("theirs")}>
      <p>
        {say(draft.theirs ? "theirsTold" : "gone")} {draft.conflicts.some((each) => each.place) && say("restKept")}
      </p>
      {draft.conflicts.map((each) => (
        <section key={each.place} aria-label={told(each.place)}>
          {each.place && <h3 className="tool">{told(each.place)}</h3>}
          <div className="sides">
            {(["mine", "theirs"] as const).map((side) => (
              <div key={side}>
                <p className="hint">{say(side === "mine" ? "yours" : "others")}</p>
                {each[side] ? <Value value={each[side]} /> : <p>{say("notThere")}</p>}
              </div>
            ))}
          </div>
        </section>
      ))}
      <div className="buttons">
        <button type="button" onClick={draft.keepMine}>
          {say("mine")}
        </button>
        <button type="button" onClick={draft.takeTheirs}>
          {say("take")}
        </button>
      </div>
    </Dialog>
  );
}

interface Shown {
  kind: "tools" | "servers" | "agents" | "workflows";
  name: string;
  path: string;
  draft: Writing;
  /** The number of the publication in use; 0 for none. */
  inUse: number;
}

export type Told = Pick<DefinitionProblem, "place" | "line" | "message"> & { hint?: string };

/** What a check of a saved draft found. */
export function useChecked(path: string, draft: Writing) {
  return useQuery({
    queryKey: ["check", path, draft.revision],
    queryFn: ({ signal }) => ask<Checked>("POST", `${path}/check`, { signal, body: { text: draft.text ?? "" } }),
    enabled: draft.isSaved,
    placeholderData: (before) => before,
  });
}

/** What is wrong with a draft, and what can be done with it. `more`: other problems; `children`: what else can be done. */
export function Release({ onJump, more = [], children, ...shown }: Shown & { onJump: (problem: Told) => void; more?: readonly Told[]; children?: ReactNode }) {
  const { kind, name, path, draft, inUse } = shown;
  const say = useText(TEXTS);
  const known = useQueryClient();
  const navigate = useNavigate();
  const { ref: buttons, isSettled, press, note } = useUnhurried<HTMLDivElement>();
  const [isOpen, setOpen] = useState(false);
  const checked = useChecked(path, draft);
  const users = useQuery({
    queryKey: ["difference", path, 0, draft.revision],
    queryFn: ({ signal }) => ask<Difference>("GET", `${path}/diff`, { signal }),
    enabled: inUse > 0 && draft.isSaved && draft.revision > 0,
  });
  const refresh = () => Promise.all(CHANGED.map((each) => known.invalidateQueries({ queryKey: [each] })));
  const publish = usePress({
    mutationFn: () => ask<JustPublished>("POST", `${path}/publish`, { body: { revision: draft.revision } }),
    onSuccess: refresh,
  });
  const unpublish = usePress({ mutationFn: () => ask<Unpublished>("POST", `${path}/unpublish`), onSuccess: refresh });
  const remove = usePress({
    mutationFn: draft.remove,
    onSuccess: () => void refresh(),
    then: () => navigate({ to: (kind === "servers" ? "/tools" : `/${kind}`) as string }),
  });
  const mayPublish = draft.isSaved && !publish.isPending;
  return (
    <>
      <Problems found={checked.data && [...more, ...checked.data.problems]} onJump={onJump} />
      <div className="buttons" ref={buttons}>
        <button type="button" className="primary" aria-disabled={!(isSettled && mayPublish)} onClick={() => mayPublish && press(publish.mutate)}>
          {say("publish")}
        </button>
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {say("versions")}
        </button>
        {inUse > 0 && (
          <button type="button" className="quiet" onClick={() => unpublish.mutate()}>
            {say("unpublish")}
          </button>
        )}
        <button type="button" className="quiet" onClick={() => remove.mutate()}>
          {say("delete")}
        </button>
        {children}
      </div>
      {note}
      {users.data && users.data.used_by.length > 0 && <p className="hint">{say("uses", { names: names(users.data.used_by) })}</p>}
      {publish.data && <Published version={publish.data} />}
      {unpublish.data && unpublish.data.used_by.length > 0 && <p role="status">{say("usedBy", { names: names(unpublish.data.used_by) })}</p>}
      {[checked.error, publish.error, unpublish.error, remove.error].filter(Boolean).map((error, place) => (
        <Refused key={`${name} ${place}`} error={error} />
      ))}
      {isOpen && <Versions {...shown} onRolledBack={refresh} />}
    </>
  );
}

/** What was published, and what its publisher should know, though nothing is wrong. */
function Published({ version }: { version: JustPublished }) {
  const say = useText(TEXTS);
  return (
    <div role="status">
      <p>{say("published", { number: version.number })}</p>
      {version.remarks.length > 0 && (
        <>
          <p>{say("remarks")}</p>
          <ul>
            {version.remarks.map((each) => (
              <li key={each}>{told(each)}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function names(given: readonly unknown[]): string {
  return given.map(told).join(", ");
}

/** Why something was not done, with the names of those who stand in its way. */
function Refused({ error }: { error: unknown }) {
  const say = useText(TEXTS);
  const users = error instanceof Problem ? error.body["used_by"] : undefined;
  return (
    <>
      <Failure error={error} />
      {Array.isArray(users) && users.length > 0 && <p className="hint">{say("uses", { names: names(users) })}</p>}
    </>
  );
}

function Problems({ found, onJump }: { found: readonly Told[] | undefined; onJump: (problem: Told) => void }) {
  const say = useText(TEXTS);
  if (!found) return null;
  if (found.length === 0) return <p className="hint">{say("noProblems")}</p>;
  return (
    <ul aria-label={say("problems")} className="problems">
      {found.map((each, place) => (
        <li key={place}>
          <button type="button" className="quiet" onClick={() => onJump(each)}>
            {say("at", { line: each.line, message: told(each.message) })}
          </button>{" "}
          {each.hint && <span className="hint">{told(each.hint)}</span>}
        </li>
      ))}
    </ul>
  );
}

function Versions({ path, draft, inUse, onRolledBack }: Shown & { onRolledBack: () => Promise<unknown> }) {
  const say = useText(TEXTS);
  const language = usePreferences((each) => each.language);
  const [compared, setCompared] = useState(0);
  const { ref: buttons, isSettled, press, note } = useUnhurried<HTMLUListElement>();
  const versions = useQuery({
    queryKey: ["versions", path],
    queryFn: ({ signal }) => ask<Part<Version>>("GET", `${path}/versions`, { signal }).catch(orNull),
  });
  const difference = useQuery({
    queryKey: ["difference", path, compared, draft.revision],
    queryFn: ({ signal }) => ask<Difference>("GET", `${path}/diff`, { signal, query: { old: compared } }),
    enabled: compared > 0,
    staleTime: 0,
  });
  const rollback = usePress({
    mutationFn: (number: number) => ask<JustPublished>("POST", `${path}/rollback`, { body: { number } }),
    onSuccess: onRolledBack,
  });
  return (
    <section aria-label={say("versions")}>
      <h2>{say("versions")}</h2>
      {versions.data?.items.length === 0 || versions.data === null ? <p className="hint">{say("noVersions")}</p> : null}
      <ul className="versions" ref={buttons}>
        {versions.data?.items.map((each) => (
          <li key={each.number}>
            <button type="button" className="quiet" aria-expanded={compared === each.number} onClick={() => setCompared(compared === each.number ? 0 : each.number)}>
              {each.number}
            </button>{" "}
            {time(each.at, language)} {told(each.by)}{" "}
            {each.number === inUse ? (
              <span className="hint">{say("inUse")}</span>
            ) : (
              <button type="button" aria-disabled={!isSettled || rollback.isPending} onClick={() => press(() => rollback.mutate(each.number))}>
                {say("rollback")}
              </button>
            )}
          </li>
        ))}
      </ul>
      {note}
      {rollback.data && <Published version={rollback.data} />}
      {[versions.error, rollback.error, difference.error].filter(Boolean).map((error, place) => (
        <Failure key={place} error={error} />
      ))}
      {compared > 0 && difference.data && (
        <>
          <h3>{say("differs", { number: compared })}</h3>
          {difference.data.changes.length === 0 && <p className="hint">{say("same")}</p>}
          <ul>
            {difference.data.changes.map((each, place) => (
              <li key={place}>
                {say(each.kind)} {told(each.place)}: <code>{told(each.old)}</code> → <code>{told(each.new)}</code> {told(each.breaks)}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
