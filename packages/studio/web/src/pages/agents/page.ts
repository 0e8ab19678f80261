import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "agents",
  path: "/agents/{-$agent}",
  title: dictionary({ title: "Agents" }, { title: "智能体" }),
  scopes: ["runs", "build"],
  load: () => import("./agents"),
};
