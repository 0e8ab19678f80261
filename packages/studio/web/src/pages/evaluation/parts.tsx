// What the views of experiments have in common: tables, links to runs, and how numbers are written.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { usePreferences, useText } from "../../core/language";
import { brief, told } from "../../core/shown";
import { TEXTS } from "./texts";

/** Where there is no number. */
export const NONE = "–";

export function Back() {
  return (
    <p>
      <Link to={"/evaluation" as string}>{useText(TEXTS)("back")}</Link>
    </p>
  );
}

export function Table({ label, heads, children }: { label: string; heads: string[]; children: ReactNode }) {
  return (
    <div className="wide">
      <table aria-label={label}>
        <thead>
          <tr>
            {heads.map((each) => (
              <th key={each} scope="col">
                {each}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function RunLink({ run }: { run: string }) {
  return <Link to={`/runs/${run}` as string}>{run.slice(0, 12)}</Link>;
}

/** Names of strangers, in one line. */
export function names(values: readonly string[]): string {
  return brief(values.map(told).join(", "), 1_000);
}

/** Numbers in the language of the page; a dash where there is none. */
export function useNumbers() {
  const language = usePreferences((each) => each.language);
  const written = (value: number | null, format: Intl.NumberFormatOptions) =>
    value === null ? NONE : value.toLocaleString(language === "zh" ? "zh-CN" : "en", format);
  return {
    number: (value: number | null) => written(value, { maximumSignificantDigits: 4 }),
    share: (value: number | null) => written(value, { style: "percent", maximumFractionDigits: 1 }),
    chance: (value: number) => written(value, { style: "percent", maximumSignificantDigits: 2 }),
    points: (value: number, isSigned = true) =>
      written(100 * value, { minimumFractionDigits: 1, maximumFractionDigits: 1, ...(isSigned ? { signDisplay: "exceptZero" } : {}) }),
  };
}
