import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "approvals",
  path: "/approvals",
  title: dictionary({ title: "Approvals" }, { title: "审批" }),
  scopes: ["approve", "runs"],
  load: () => import("./approvals"),
};
