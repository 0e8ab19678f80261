import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "tools",
  path: "/tools/{-$tool}",
  title: dictionary({ title: "Tools" }, { title: "工具" }),
  scopes: ["tools", "build"],
  load: () => import("./tools"),
};
