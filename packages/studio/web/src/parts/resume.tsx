// Goes on with a run that was interrupted, also where its agent has changed since.
import { useQueryClient } from "@tanstack/react-query";

import { ask, isProblem } from "../core/api";
import { dictionary, useText } from "../core/language";
import { Failure } from "./failure";
import { usePress } from "./press";

const TEXTS = dictionary(
  { resume: "Resume", accept: "Go on with the agent as it is now" },
  { resume: "继续", accept: "用现在的智能体继续" },
);

/** It stays where it is while the run is not `isInterrupted`: an attempt to go on is such a while, and its error is to be seen. */
export function Resume({ run, isInterrupted }: { run: string; isInterrupted: boolean }) {
  const say = useText(TEXTS);
  const known = useQueryClient();
  const resume = usePress({
    mutationFn: (accept: boolean) => ask("POST", `/v1/runs/${encodeURIComponent(run)}/resume`, { body: { accept } }),
    onSettled: () => Promise.all(["run", "runs of"].map((each) => known.invalidateQueries({ queryKey: [each] }))),
  });
  if (!isInterrupted) return null;
  return (
    <>
      <button type="button" className="primary" aria-disabled={resume.isPending} onClick={() => resume.mutate(false)}>
        {say("resume")}
      </button>
      {resume.isError && (
        <div>
          <Failure error={resume.error} />
          {isProblem(resume.error, "changed") && (
            <button type="button" onClick={() => resume.mutate(true)}>
              {say("accept")}
            </button>
          )}
        </div>
      )}
    </>
  );
}
