import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "workflows",
  path: "/workflows/{-$workflow}",
  title: dictionary({ title: "Workflows" }, { title: "工作流" }),
  scopes: ["runs"],
  load: () => import("./workflows"),
};
