import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "memory",
  path: "/memory",
  title: dictionary({ title: "Memory" }, { title: "记忆" }),
  scopes: ["runs"],
  feature: "memories",
  load: () => import("./memory"),
};
