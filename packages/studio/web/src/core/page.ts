// The seam for pages: a page is a folder that brings one of these, and a line in `pages.ts`.
import type { ComponentType } from "react";

import type { Dictionary } from "./language";

export interface Page {
  /** The path below `/studio`: `/chat/{-$agent}`. */
  path: string;
  /** The first part of the path: where the link of the navigation leads. */
  name: string;
  /** The heading and the link, in both languages. */
  title: Dictionary<"title">;
  /** One of these scopes lets a person see the page; none given: everybody does. */
  scopes?: readonly string[];
  /** The feature of the server that the page shows. */
  feature?: string;
  load(): Promise<{ default: ComponentType }>;
}
