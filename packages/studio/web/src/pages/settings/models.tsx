// The models of this tenant: connect one, test it, choose which one answers by default.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";

import { ask } from "../../core/api";
import { dictionary, useText } from "../../core/language";
import { told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Connections } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";
import { usePress } from "../../parts/press";

const TEXTS = dictionary(
  {
    models: "Models",
    none: "No model is connected. The embedded model answers: it calls tools, and writes no texts of its own.",
    provider: "Provider",
    address: "Address",
    key: "API key",
    model: "Model",
    modelHint: "the name of the model there",
    test: "Test",
    use: "Use as default",
    default: "default",
    remove: "Delete",
    other: "another address",
    found: "These models answer on this machine, and need no key:",
    ok: "Works",
    key_refused: "Key refused",
    unreachable: "Unreachable",
    unknown_model: "This model is not known there.",
  },
  {
    models: "模型",
    none: "尚未连接模型。由内置模型回答：它会调用工具，但不会自己写文章。",
    provider: "提供商",
    address: "地址",
    key: "模型密钥",
    model: "模型",
    modelHint: "模型在对方那里的名称",
    test: "测试",
    use: "设为默认",
    default: "默认",
    remove: "删除",
    other: "其他地址",
    found: "本机上有以下模型可用，无需密钥：",
    ok: "可用",
    key_refused: "密钥被拒绝",
    unreachable: "无法连接",
    unknown_model: "对方没有这个模型。",
  },
);

type Outcome = "ok" | "key_refused" | "unreachable" | "unknown_model";

function useConnections() {
  return useQuery({
    queryKey: ["connections"],
    queryFn: ({ signal }) => ask<Connections>("GET", "/v1/connections", { signal }),
  });
}

export function Models() {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const connections = useConnections();
  const remove = usePress({
    mutationFn: (name: string) => ask("DELETE", `/v1/connections/${encodeURIComponent(name)}`),
    onSettled: () => known.invalidateQueries({ queryKey: ["connections"] }),
  });
  return (
    <section className="card" aria-labelledby="models">
      <h2 id="models">{say("models")}</h2>
      <Asked query={connections} empty={(part) => (part.items.length ? undefined : <p className="hint">{say("none")}</p>)}>
        {(part) => (
          <ul className="lines">
            {part.items.map((each) => (
              <li key={each.name}>
                <span>
                  <code>{told(each.name)}</code> {told(each.model)} {each.default && <span className="state">{say("default")}</span>}
                </span>
                <button type="button" aria-label={`${say("remove")} ${told(each.name)}`} onClick={() => remove.mutate(each.name)}>
                  {say("remove")}
                </button>
              </li>
            ))}
          </ul>
        )}
      </Asked>
      <Connect />
      {remove.isError && <Failure error={remove.error} />}
    </section>
  );
}

/** The form that connects a model: the same here and in the chat. `children`: more buttons. */
export function Connect({ onConnected, children }: { onConnected?: () => void; children?: ReactNode }) {
  return <Asked query={useConnections()}>{(known) => <ConnectForm known={known} onConnected={onConnected} more={children} />}</Asked>;
}

function ConnectForm(props: { known: Connections; onConnected: (() => void) | undefined; more: ReactNode }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const queries = useQueryClient();
  const { providers, local = [] } = props.known;
  const [given, setGiven] = useState({ provider: "openai", url: "", key: "", model: "", ...local[0] });
  const isOther = given.provider === "";
  const body = {
    ...(isOther ? { url: given.url } : { provider: given.provider }),
    ...(given.key ? { key: given.key } : {}),
    model: given.model,
  };
  const test = usePress({
    mutationFn: (sent: typeof body) => ask<{ outcome: Outcome }>("POST", "/v1/connections/test", { body: sent }),
  });
  const keep = usePress({
    mutationFn: (sent: typeof given) => ask("PUT", `/v1/connections/${sent.provider || "own"}`, { body: { ...body, default: true } }),
    onSuccess: async (_, sent) => {
      setGiven((typed) => (typed.key === sent.key ? { ...typed, key: "" } : typed));
      await queries.invalidateQueries();
    },
    then: () => props.onConnected?.(),
  });
  const set = (more: Partial<typeof given>) => {
    test.reset();
    setGiven({ ...given, ...more });
  };
  const outcome = test.data?.outcome;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        test.mutate(body); // of another address than the one that is tested now, if that was changed
      }}
    >
      {local.length > 0 && (
        <>
          <p>{say("found")}</p>
          <div className="samples">
            {local.map((each) => (
              <button
                key={`${each.provider} ${each.model}`}
                type="button"
                aria-pressed={given.provider === each.provider && given.model === each.model}
                onClick={() => set({ ...each, key: "" })}
              >
                {told(each.model)} <span className="hint">{each.provider}</span>
              </button>
            ))}
          </div>
        </>
      )}
      <label>
        {say("provider")}
        <select value={given.provider} onChange={(event) => set({ provider: event.target.value })}>
          {providers.map((each) => (
            <option key={each.name}>{each.name}</option>
          ))}
          <option value="">{say("other")}</option>
        </select>
      </label>
      {isOther && (
        <label>
          {say("address")}
          <input type="url" required placeholder="https://models.example.org/v1" value={given.url} onChange={(event) => set({ url: event.target.value })} />
        </label>
      )}
      <label>
        {say("key")}
        <input type="password" role="textbox" autoComplete="off" value={given.key} onChange={(event) => set({ key: event.target.value })} />
      </label>
      <label>
        {say("model")}
        <input required placeholder={say("modelHint")} value={given.model} onChange={(event) => set({ model: event.target.value })} />
      </label>
      <div className="buttons">
        <button type="submit" aria-disabled={test.isPending}>
          {say("test")}
        </button>
        <button type="button" className="primary" disabled={!given.model} aria-disabled={keep.isPending} onClick={() => keep.mutate(given)}>
          {say("use")}
        </button>
        {props.more}
      </div>
      <p role="status" className="outcome" data-outcome={outcome}>
        {test.isPending ? common("loading") : outcome ? say(outcome) : ""}
      </p>
      {[test.error, keep.error].filter(Boolean).map((error, place) => (
        <Failure key={place} error={error} />
      ))}
    </form>
  );
}
