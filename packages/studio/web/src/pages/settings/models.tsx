// The models of this tenant: connect one, test it, choose which one answers by default.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ask, once } from "../../core/api";
import { dictionary, useText } from "../../core/language";
import { told } from "../../core/shown";
import { COMMON } from "../../core/texts";
import type { Part } from "../../core/types";
import { Asked, Failure } from "../../parts/failure";

const TEXTS = dictionary(
  {
    models: "Models",
    none: "No model is connected. The embedded model answers: it calls tools, and writes no texts of its own.",
    provider: "Provider",
    address: "Address",
    key: "API key",
    model: "Model",
    test: "Test",
    use: "Use as default",
    default: "default",
    remove: "Delete",
    other: "another address",
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
    test: "测试",
    use: "设为默认",
    default: "默认",
    remove: "删除",
    other: "其他地址",
    ok: "可用",
    key_refused: "密钥被拒绝",
    unreachable: "无法连接",
    unknown_model: "对方没有这个模型。",
  },
);

export interface Connection {
  name: string;
  provider: string;
  url: string;
  model: string;
  default: boolean;
}

type Outcome = "ok" | "key_refused" | "unreachable" | "unknown_model";

const PROVIDERS = ["openai", "anthropic", "gemini", "deepseek", "qwen", "moonshot", "ollama", "openrouter"];

export function Models() {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const connections = useQuery({
    queryKey: ["connections"],
    queryFn: ({ signal }) => ask<Part<Connection>>("GET", "/v1/connections", { signal }),
  });
  const remove = useMutation({
    mutationFn: (name: string) => ask("DELETE", `/v1/connections/${encodeURIComponent(name)}`),
    onSuccess: () => known.invalidateQueries({ queryKey: ["connections"] }),
  });
  return (
    <section className="card" aria-labelledby="models">
      <h2 id="models">{say("models")}</h2>
      <Asked query={connections} empty={(part) => (part.items.length ? undefined : <p className="hint">{say("none")}</p>)}>
        {(part) => (
          <ul>
            {part.items.map((each) => (
              <li key={each.name}>
                <code>{told(each.name)}</code> {told(each.model)} {each.default && `(${say("default")})`}{" "}
                <button type="button" aria-label={`${say("remove")} ${each.name}`} onClick={() => remove.mutate(each.name)}>
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

/** The form that connects a model: the same here and in the chat. */
export function Connect({ onConnected }: { onConnected?: () => void }) {
  const say = useText(TEXTS);
  const common = useText(COMMON);
  const known = useQueryClient();
  const [given, setGiven] = useState({ provider: "openai", url: "", key: "", model: "" });
  const isOther = given.provider === "";
  const body = {
    ...(isOther ? { url: given.url } : { provider: given.provider }),
    ...(given.key ? { key: given.key } : {}),
    model: given.model,
  };
  const test = useMutation({
    mutationFn: () => ask<{ outcome: Outcome }>("POST", "/v1/connections/test", { body, once: once() }),
  });
  const keep = useMutation({
    mutationFn: () => ask("PUT", `/v1/connections/${isOther ? "own" : given.provider}`, { body: { ...body, default: true } }),
    onSuccess: async () => {
      setGiven({ ...given, key: "" });
      await known.invalidateQueries();
      onConnected?.();
    },
  });
  const change = (name: keyof typeof given) => (event: { target: { value: string } }) => {
    test.reset();
    setGiven({ ...given, [name]: event.target.value });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        test.mutate();
      }}
    >
      <label>
        {say("provider")}
        <select value={given.provider} onChange={change("provider")}>
          {PROVIDERS.map((each) => (
            <option key={each}>{each}</option>
          ))}
          <option value="">{say("other")}</option>
        </select>
      </label>
      {isOther && (
        <label>
          {say("address")}
          <input type="url" required value={given.url} onChange={change("url")} />
        </label>
      )}
      <label>
        {say("key")}
        <input type="password" role="textbox" autoComplete="off" value={given.key} onChange={change("key")} />
      </label>
      <label>
        {say("model")}
        <input required value={given.model} onChange={change("model")} />
      </label>
      <div className="buttons">
        <button type="submit" disabled={test.isPending}>
          {say("test")}
        </button>
        <button type="button" className="primary" disabled={!given.model || keep.isPending} onClick={() => keep.mutate()}>
          {say("use")}
        </button>
      </div>
      <p role="status">{test.isPending ? common("loading") : test.data ? say(test.data.outcome) : ""}</p>
      {[test.error, keep.error].filter(Boolean).map((error, place) => (
        <Failure key={place} error={error} />
      ))}
    </form>
  );
}
