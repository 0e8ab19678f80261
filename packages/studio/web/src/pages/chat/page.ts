import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "chat",
  path: "/chat/{-$agent}",
  title: dictionary({ title: "Chat" }, { title: "对话" }),
  scopes: ["runs"],
  load: () => import("./chat"),
};
