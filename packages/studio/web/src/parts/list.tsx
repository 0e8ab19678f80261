// A list of the API: asked for part by part, searched, and shown as a table. And the form that begins a thing by its name.
import { keepPreviousData, useInfiniteQuery, useQueryClient, type UseInfiniteQueryResult } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import { ask, type Request } from "../core/api";
import { useText } from "../core/language";
import { COMMON } from "../core/texts";
import type { Part } from "../core/types";
import { Asked, Failure } from "./failure";
import { Filters, TextFilter } from "./filters";
import { usePress } from "./press";

export interface List<T, P = Part<T>> {
  items: T[] | undefined;
  /** The first part, with what only the first part has. */
  first: P | undefined;
  asked: UseInfiniteQueryResult<{ pages: P[] }>;
}

/**
 * The list at a path. While a filter is changed, the list before stays. `isSeen`: leaves items out.
 * `first`: what is asked with the first part alone.
 */
export function useList<T, P extends Part<T> = Part<T>>(
  key: readonly string[],
  path: string,
  query: Request["query"] = {},
  { first = {}, isSeen = () => true }: { first?: Request["query"]; isSeen?: (item: T) => boolean } = {},
): List<T, P> {
  const asked = useInfiniteQuery({
    queryKey: [...key, query],
    queryFn: ({ signal, pageParam }) => ask<P>("GET", path, { signal, query: { limit: 50, ...(pageParam ? {} : first), ...query, cursor: pageParam } }),
    initialPageParam: "",
    getNextPageParam: (last) => last.next,
    placeholderData: keepPreviousData,
  });
  return { items: asked.data?.pages.flatMap((each) => each.items).filter(isSeen), first: asked.data?.pages[0], asked };
}

/** Asks for the next part. News of the feed ask anew for the parts that are shown, which ends this request: then it is asked again. */
async function askNext({ data, fetchNextPage }: UseInfiniteQueryResult<{ pages: unknown[] }>): Promise<void> {
  const shown = data?.pages.length ?? 0;
  for (;;) {
    const now = await fetchNextPage({ cancelRefetch: false });
    if (!now.isSuccess || now.isPlaceholderData || !now.hasNextPage || now.data.pages.length > shown) return;
  }
}

/** The head of a column, what is in a cell, and how the cell looks. */
export type Column<T> = readonly [head: string, cell: (item: T) => ReactNode, look?: "main" | "when" | "value"];

interface Table<T> {
  list: List<T, unknown>;
  label: string;
  columns: readonly Column<T>[];
  keyOf: (item: T) => string;
  /** What is said where the list has no item. */
  empty: string;
}

export function ListTable<T>({ list, label, columns, keyOf, empty }: Table<T>) {
  const common = useText(COMMON);
  const { error, refetch, hasNextPage, isFetchingNextPage } = list.asked;
  const nothing = <p className="hint">{hasNextPage ? common("soFar") : empty}</p>;
  return (
    <>
      <Asked query={{ data: list.items, error, refetch }} empty={(found) => (found.length ? undefined : nothing)}>
        {(found) => (
          <div className="wide">
            <table aria-label={label}>
              <thead>
                <tr>
                  {columns.map(([head]) => (
                    <th key={head} scope="col">
                      {head}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {found.map((each) => (
                  <tr key={keyOf(each)}>
                    {columns.map(([head, cell, look]) => (
                      <td key={head} className={look}>
                        {cell(each)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Asked>
      {hasNextPage && (
        <button type="button" aria-disabled={isFetchingNextPage} onClick={() => isFetchingNextPage || void askNext(list.asked)}>
          {common("more")}
        </button>
      )}
    </>
  );
}

interface Page<T> extends Omit<Table<T>, "label"> {
  title: string;
  about?: ReactNode;
  search?: { hint: string; value: string | undefined; onChange: (text: string) => void };
  /** More filters, beside the search. */
  filters?: ReactNode;
  /** The button that makes a new thing, its form, and other buttons beside it. */
  make?: { label: string; form: ReactNode; more?: ReactNode } | false;
  /** What is between the filters and the table. */
  children?: ReactNode;
}

/** A page that is a list. */
export function ListPage<T>({ title, about, search, filters, make, children, empty, ...table }: Page<T>) {
  const common = useText(COMMON);
  const [isNew, setNew] = useState(false);
  return (
    <>
      <h1>{title}</h1>
      {typeof about === "string" ? <p className="hint">{about}</p> : about}
      {search && (
        <Filters>
          <TextFilter type="search" label={common("search")} hint={search.hint} value={search.value ?? ""} onChange={search.onChange} />
          {filters}
        </Filters>
      )}
      {make && (
        <div className="buttons">
          <button type="button" aria-expanded={isNew} onClick={() => setNew(!isNew)}>
            {make.label}
          </button>
          {make.more}
        </div>
      )}
      {make && isNew && make.form}
      {children}
      <ListTable label={title} empty={search?.value && !filters ? common("noMatch") : empty} {...table} />
    </>
  );
}

/** Asks for the name of a new thing, and leads to what `begin` made. `list`: the key of the list that it is in. */
export function NewByName(props: { hint: string; list: string; begin: (name: string) => Promise<{ name: string }>; to: string; children?: ReactNode }) {
  const common = useText(COMMON);
  const known = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const create = usePress({
    mutationFn: () => props.begin(name.trim()),
    onSuccess: () => void known.invalidateQueries({ queryKey: [props.list] }),
    then: (made) => navigate({ to: `${props.to}/${encodeURIComponent(made.name)}` as string }),
  });
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <label>
        {common("name")}
        <input autoFocus required placeholder={props.hint} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      {props.children}
      <div className="buttons">
        <button type="submit" className="primary" aria-disabled={create.isPending}>
          {common("create")}
        </button>
      </div>
      {create.isError && <Failure error={create.error} />}
    </form>
  );
}
