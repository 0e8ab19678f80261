import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "audit",
  path: "/audit",
  title: dictionary({ title: "Audit" }, { title: "审计" }),
  scopes: ["audit"],
  load: () => import("./audit"),
};
