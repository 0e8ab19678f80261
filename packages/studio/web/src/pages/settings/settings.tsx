// What a person sets: language and theme; and for administrators keys, secrets and connected models.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, type FormEvent } from "react";

import { useSession } from "../../app";
import { ask } from "../../core/api";
import { dictionary, usePreferences, useText, type Language, type Theme } from "../../core/language";
import { told, time } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Key, Part, Secret } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { usePress } from "../../parts/press";
import { Models } from "./models";
import { page } from "./page";

const TEXTS = dictionary(
  {
    language: "Language",
    theme: "Theme",
    system: "System",
    light: "Light",
    dark: "Dark",
    keys: "Keys",
    newKey: "New key",
    revoke: "Revoke",
    name: "Name",
    user: "User",
    scopes: "Scopes",
    state: "State",
    ends: "Ends",
    days: "Valid for days",
    always: "empty: until it is revoked",
    valid: "valid",
    ended: "ended",
    revoked: "revoked",
    damaged: "damaged",
    looks: "Looks",
    once: "This is the key. It is shown this once: keep it now.",
    noKeys: "Nobody has a key yet.",
    secrets: "Secrets",
    setSecret: "Set secret",
    value: "Value",
    remove: "Delete",
    noSecrets: "No secret is set.",
  },
  {
    language: "语言",
    theme: "主题",
    system: "跟随系统",
    light: "浅色",
    dark: "深色",
    keys: "访问密钥",
    newKey: "新建密钥",
    revoke: "吊销",
    name: "名称",
    user: "用户",
    scopes: "权限",
    state: "状态",
    ends: "到期",
    days: "有效天数",
    always: "留空：直到吊销",
    valid: "有效",
    ended: "已到期",
    revoked: "已吊销",
    damaged: "已损坏",
    looks: "外观",
    once: "这就是密钥，仅显示这一次：请现在保存。",
    noKeys: "还没有任何密钥。",
    secrets: "机密值",
    setSecret: "设置机密值",
    value: "值",
    remove: "删除",
    noSecrets: "没有设置机密值。",
  },
);

export default function Settings() {
  const title = useText(page.title)("title");
  const session = useSession();
  const isAdmin = session.data?.scopes.includes("admin") ?? false;
  const connects = session.data?.features.includes("connections") ?? false;
  return (
    <div className="settings">
      <h1>{title}</h1>
      <Looks />
      {isAdmin && (
        <>
          {connects && <Models />}
          <Keys />
          <Secrets />
        </>
      )}
    </div>
  );
}

function Looks() {
  const say = useText(TEXTS);
  const { language, theme, setLanguage, setTheme } = usePreferences();
  return (
    <section className="card" aria-labelledby="looks">
      <h2 id="looks">{say("looks")}</h2>
      <label>
        {say("language")}
        <select value={language} onChange={(event) => setLanguage(event.target.value as Language)}>
          <option value="en">English</option>
          <option value="zh">中文</option>
        </select>
      </label>
      <label>
        {say("theme")}
        <select value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
          {(["system", "light", "dark"] as const).map((each) => (
            <option key={each} value={each}>
              {say(each)}
            </option>
          ))}
        </select>
      </label>
    </section>
  );
}

function Keys() {
  const say = useText(TEXTS);
  const language = usePreferences((each) => each.language);
  const common = useText(COMMON);
  const known = useQueryClient();
  const [isNew, setNew] = useState(false);
  const [given, setGiven] = useState({ id: "", user: "", days: "" });
  const [scopes, setScopes] = useState<readonly string[]>(["runs", "tools"]);
  const now = useRef(given);
  useEffect(() => {
    now.current = given;
  });
  const mine = useSession().data?.scopes ?? [];
  const keys = useQuery({ queryKey: ["keys"], queryFn: ({ signal }) => ask<Part<Key>>("GET", "/v1/keys", { signal }) });
  const refresh = () => known.invalidateQueries({ queryKey: ["keys"] });
  const make = usePress({
    mutationFn: ({ id, user, days }: typeof given) =>
      ask<{ key: string }>("POST", "/v1/keys", {
        body: { id, user, scopes, ...(days && { expires_at: Date.now() / 1000 + Number(days) * 86_400 }) },
      }),
    onSuccess: (_, sent) => {
      if (now.current === sent) {
        setNew(false);
        setGiven({ id: "", user: "", days: "" });
      }
      return refresh();
    },
  });
  const revoke = usePress({
    mutationFn: (id: string) => ask("DELETE", `/v1/keys/${encodeURIComponent(id)}`),
    onSettled: refresh,
  });
  return (
    <section className="card" aria-labelledby="keys">
      <h2 id="keys">{say("keys")}</h2>
      <Asked query={keys} empty={(part) => (part.items.length ? undefined : <p className="hint">{say("noKeys")}</p>)}>
        {(part) => (
          <div className="wide">
            <table aria-label={say("keys")}>
              <thead>
                <tr>
                  {(["name", "user", "scopes", "state", "ends"] as const).map((each) => (
                    <th key={each} scope="col">
                      {say(each)}
                    </th>
                  ))}
                  <td />
                </tr>
              </thead>
              <tbody>
                {part.items.map((each) => (
                  <tr key={each.id}>
                    <th scope="row">{told(each.id)}</th>
                    <td>{told(each.user)}</td>
                    <td>{each.scopes.join(", ")}</td>
                    <td>{say(each.state)}</td>
                    <td>{each.expires_at ? time(each.expires_at, language) : common("never")}</td>
                    <td>
                      {each.state === "valid" && (
                        <button type="button" onClick={() => revoke.mutate(each.id)}>
                          {say("revoke")}
                        </button>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Asked>
      {make.data && (
        <p role="status" className="fresh">
          {say("once")} <code>{make.data.key}</code>
        </p>
      )}
      {isNew ? (
        <form
          onSubmit={(event: FormEvent) => {
            event.preventDefault();
            make.mutate(given);
          }}
        >
          {(["id", "user"] as const).map((name) => (
            <label key={name}>
              {say(name === "id" ? "name" : name)}
              <input required={name === "id"} value={given[name]} onChange={(event) => setGiven({ ...given, [name]: event.target.value })} />
            </label>
          ))}
          <label>
            {say("days")}
            <input type="number" min="1" placeholder={say("always")} value={given.days} onChange={(event) => setGiven({ ...given, days: event.target.value })} />
          </label>
          <fieldset>
            <legend>{say("scopes")}</legend>
            {mine.map((each) => (
              <label key={each}>
                <input
                  type="checkbox"
                  checked={scopes.includes(each)}
                  onChange={(event) => setScopes(event.target.checked ? [...scopes, each] : scopes.filter((one) => one !== each))}
                />
                {each}
              </label>
            ))}
          </fieldset>
          <div className="buttons">
            <button type="submit" className="primary" aria-disabled={make.isPending}>
              {say("newKey")}
            </button>
            <button type="button" onClick={() => setNew(false)}>
              {common("cancel")}
            </button>
          </div>
        </form>
      ) : (
        <button type="button" onClick={() => setNew(true)}>
          {say("newKey")}
        </button>
      )}
      {[make.error, revoke.error].filter(Boolean).map((error, place) => (
        <Failure key={place} error={error} />
      ))}
    </section>
  );
}

function Secrets() {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const secrets = useQuery({ queryKey: ["secrets"], queryFn: ({ signal }) => ask<Part<Secret>>("GET", "/v1/secrets", { signal }) });
  const refresh = () => known.invalidateQueries({ queryKey: ["secrets"] });
  const set = usePress({
    mutationFn: (given: { name: string; value: string }) => ask("PUT", `/v1/secrets/${encodeURIComponent(given.name)}`, { body: { value: given.value } }),
    onSuccess: (_, given) => {
      setName((typed) => (typed === given.name ? "" : typed)); // the next one may be typed already
      setValue((typed) => (typed === given.value ? "" : typed));
      return refresh();
    },
  });
  const remove = usePress({
    mutationFn: (each: string) => ask("DELETE", `/v1/secrets/${encodeURIComponent(each)}`),
    onSettled: refresh,
  });
  return (
    <section className="card" aria-labelledby="secrets">
      <h2 id="secrets">{say("secrets")}</h2>
      <Asked query={secrets} empty={(part) => (part.items.length ? undefined : <p className="hint">{say("noSecrets")}</p>)}>
        {(part) => (
          <ul className="lines">
            {part.items.map((each) => (
              <li key={each.name}>
                <code>{told(each.name)}</code>
                <button type="button" aria-label={`${say("remove")} ${told(each.name)}`} onClick={() => remove.mutate(each.name)}>
                  {say("remove")}
                </button>
              </li>
            ))}
          </ul>
        )}
      </Asked>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          set.mutate({ name, value });
        }}
      >
        <label>
          {say("name")}
          <input required value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <label>
          {say("value")}
          <input required type="password" role="textbox" autoComplete="off" value={value} onChange={(event) => setValue(event.target.value)} />
        </label>
        <div className="buttons">
          <button type="submit">{say("setSecret")}</button>
        </div>
      </form>
      {[set.error, remove.error].filter(Boolean).map((error, place) => (
        <Failure key={place} error={error} />
      ))}
    </section>
  );
}
