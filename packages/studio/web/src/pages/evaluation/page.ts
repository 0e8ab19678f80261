import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "evaluation",
  path: "/evaluation/{-$experiment}",
  title: dictionary({ title: "Evaluation" }, { title: "评测" }),
  scopes: ["runs"],
  load: () => import("./evaluation"),
};
