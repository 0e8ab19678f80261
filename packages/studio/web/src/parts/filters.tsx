// Filters of a list. They stand in the address, so that a list can be found again and its link can be sent.
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";

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
      const next: Partial<Record<K, string>> = { ...filters };
      if (value) next[name] = value;
      else delete next[name];
      void navigate({ to: "." as string, search: next as never, replace: true });
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

export function TextFilter(props: { label: string; value: string; hint?: string; type?: "search" | "text"; onChange: (value: string) => void }) {
  const [typed, type] = useTyped(props.value, props.onChange);
  return (
    <label>
      {props.label}
      <input type={props.type ?? "text"} placeholder={props.hint} value={typed} onChange={(event) => type(event.target.value)} />
    </label>
  );
}
