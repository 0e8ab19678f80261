// Filters of a list. They stand in the address, so that a list can be found again and its link can be sent.
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { useText } from "../core/language";
import { localMoment, momentOf } from "../core/shown";
import { COMMON } from "../core/texts";
import { useTyped } from "../core/typed";

/** The filters of these names, and how one of them is set. */
export function useFilters<K extends string>(names: readonly K[]): [Partial<Record<K, string>>, (name: K, value: string) => void] {
  const given = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  const filters: Partial<Record<K, string>> = {};
  for (const name of names) if (Object.hasOwn(given, name)) filters[name] = String(given[name]);
  return [
    filters,
    (name, value) => {
      const changed = (before: Record<string, unknown>) => {
        const kept = Object.entries(before).filter(([each]) => each !== name && names.includes(each as K));
        return Object.fromEntries(value ? [...kept, [name, value]] : kept);
      };
      void navigate({ to: "." as string, search: changed as never, replace: true }); // of what the address says by then
    },
  ];
}

export function Filters({ children }: { children: ReactNode }) {
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  );
}

/** From when to when, of what has a time. In the address stand seconds since 1970, as the server counts them. */
export function TimeFilters({ since = "", until = "", onChange }: Times & { onChange: (name: keyof Times, value: string) => void }) {
  const say = useText(COMMON);
  return (["since", "until"] as const).map((name) => (
    <TextFilter
      key={name}
      type="datetime-local"
      label={say(name)}
      value={localMoment(name === "since" ? since : until)}
      onChange={(value) => onChange(name, momentOf(value))}
    />
  ));
}

interface Times {
  since?: string | undefined;
  until?: string | undefined;
}

export function TextFilter(props: { label: string; value: string; hint?: string; type?: "search" | "text" | "number" | "datetime-local"; onChange: (value: string) => void }) {
  const [typed, type] = useTyped(props.value, props.onChange);
  return (
    <label>
      {props.label}
      <input type={props.type ?? "text"} min={props.type === "number" ? 1 : undefined} placeholder={props.hint} value={typed} onChange={(event) => type(event.target.value)} />
    </label>
  );
}

/** One of some values, or any. */
export function ChoiceFilter<V extends string>(props: { label: string; values: readonly V[]; shown: (value: V) => string; chosen: string | undefined; onChange: (value: string) => void }) {
  const say = useText(COMMON);
  return (
    <label>
      {props.label}
      <select value={props.chosen ?? ""} onChange={(event) => props.onChange(event.target.value)}>
        <option value="">{say("any")}</option>
        {props.values.map((each) => (
          <option key={each} value={each}>
            {props.shown(each)}
          </option>
        ))}
      </select>
    </label>
  );
}
