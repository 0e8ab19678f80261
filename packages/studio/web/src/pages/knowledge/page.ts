import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "knowledge",
  path: "/knowledge/{-$collection}",
  title: dictionary({ title: "Knowledge" }, { title: "知识库" }),
  scopes: ["knowledge", "documents"],
  feature: "knowledge",
  load: () => import("./knowledge"),
};
