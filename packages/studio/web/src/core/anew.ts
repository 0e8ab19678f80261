// A value of the server that changes with what a page hears.
import { useQuery, type UseQueryOptions, type UseQueryResult } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

interface Options<T> extends Pick<UseQueryOptions<T>, "queryKey" | "queryFn" | "enabled"> {
  /** What the value depends on, such as how much of a run is known. */
  news: string | number | boolean;
}

/**
 * Like `useQuery`, and asked for anew when there are news: one request after the other, so that a slow server answers while news come, too.
 * What came before is there until the next answer, also where a request fails.
 */
export function useAnew<T>({ news, ...options }: Options<T>): UseQueryResult<T> {
  const asked = useQuery({ ...options, staleTime: 0 });
  const { isFetching, refetch } = asked;
  const key = JSON.stringify(options.queryKey);
  const known = useRef({ key, news });
  useEffect(() => {
    if (known.current.key !== key) known.current = { key, news }; // another value, which is asked for by itself
    if (isFetching || known.current.news === news) return;
    known.current = { key, news };
    void refetch();
  }, [key, news, isFetching, refetch]);
  return asked;
}
