import { dictionary } from "../../core/language";
import type { Page } from "../../core/page";

export const page: Page = {
  name: "runs",
  path: "/runs/{-$run}",
  title: dictionary({ title: "Runs" }, { title: "运行记录" }),
  scopes: ["runs"],
  load: () => import("./runs"),
};
