// A part of the pages that is loaded when it is first shown. A browser gives a failed import the same error again until the
// page is loaded anew, which is of no use while the server is away.
import { isLost, send } from "./api";

const AGAIN_MS = 1_000;

/** What `load` imports. Its error comes when the server answers again: the router then loads the page anew. */
export async function chunk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    while (!(await isThere())) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    throw error;
  }
}

function isThere(): Promise<boolean> {
  return send("GET", "/studio/sign-in.json").then(
    () => true,
    (error: unknown) => !isLost(error),
  );
}
