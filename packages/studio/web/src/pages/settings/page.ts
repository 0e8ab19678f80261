import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "settings",
  path: "/settings",
  title: dictionary({ title: "Settings" }, { title: "设置" }),
  load: () => import("./settings"),
};
