// One stream of the server for all tabs of a browser, which has six connections to one server and no more. The tab that
// holds a lock reads the stream and tells the others; when it is closed, the browser gives the lock to another tab.
import { isProblem } from "./api";
import { endsWords, isOver, latest, NOTHING, taken, type Followed, type News } from "./followed";
import { events, type ServerEvent } from "./sse";
import { isLast } from "./turns";
import type { Approvals, Delta, DraftNews, Run, RunEvent } from "./types";

/** What the server tells, or what is to be said of the connection. `open`: what was asked for before may be of old. */
export type FeedEvent =
  | { kind: "entry"; entry: RunEvent }
  | { kind: "delta"; delta: Delta }
  | { kind: "gone"; run: string }
  | { kind: "run"; run: Run }
  | { kind: "approvals"; approvals: Approvals }
  | { kind: "draft"; draft: DraftNews }
  | { kind: "open" }
  | { kind: "lost" }
  | { kind: "refused" };

/** The runs that a tab shows, each with the number of the last entry that the tab has. */
export type Wanted = Readonly<Record<string, number>>;

/** What tabs say to each other. `who`: a tab begins to read the stream, and asks all what they want. */
export type Message =
  | { kind: "told"; event: FeedEvent }
  | { kind: "who" }
  | { kind: "want"; tab: string; runs: Wanted; isNew: boolean };

/** What a browser gives. */
export interface Ports {
  /** Names this tab among the others. */
  tab: string;
  /** Speak with the other tabs. */
  join(hear: (message: Message) => void): { post(message: Message): void; close(): void };
  /** Do this as soon as no other tab does, until the signal. */
  alone(work: () => Promise<void>, signal: AbortSignal): void;
  open(query: { run: string[]; deltas: boolean }, signal: AbortSignal): Promise<Response>;
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** So many runs are followed by one stream. */
const RUNS_MOST = 64;
/** So many runs are remembered that nobody looks at. */
const KEPT_MOST = 50;
/** How long to wait before asking again, the first time and at most. */
const AGAIN_MS = [500, 4_000] as const;
/** How long to wait for others who want something, too. */
const GATHER_MS = 30;

interface Shown {
  known: Followed;
  isOver: boolean;
  hearers: Set<() => void>;
}

/** The feed as one tab sees it. */
export class Feed {
  private readonly runs = new Map<string, Shown>();
  private readonly hearers = new Set<(event: FeedEvent) => void>();
  private channel: ReturnType<Ports["join"]> | undefined;
  private reader: Reader | undefined;
  private ended: AbortController | undefined;

  constructor(private readonly ports: Ports) {}

  /** Hear all that is told. */
  listen(hear: (event: FeedEvent) => void): () => void {
    this.hearers.add(hear);
    return () => this.hearers.delete(hear);
  }

  start(): void {
    if (this.ended) return;
    const ended = (this.ended = new AbortController());
    this.channel = this.ports.join((message) => this.hear(message));
    this.want(true);
    this.ports.alone(async () => {
      if (ended.signal.aborted) return;
      const reader = (this.reader = new Reader(this.ports, (event) => ended.signal.aborted || this.tell(event)));
      reader.want(this.ports.tab, this.wanted(), false);
      this.channel?.post({ kind: "who" });
      await reader.read(ended.signal);
      if (this.reader === reader) this.reader = undefined; // the tab may have begun anew
    }, ended.signal);
  }

  stop(): void {
    this.channel?.post({ kind: "want", tab: this.ports.tab, runs: {}, isNew: false });
    this.ended?.abort();
    this.channel?.close();
    this.ended = this.channel = this.reader = undefined;
  }

  /** Follow a run; what is known of it is asked for with `known`. */
  follow(run: string, hear: () => void): () => void {
    const shown = this.runs.get(run) ?? { known: NOTHING, isOver: false, hearers: new Set() };
    this.runs.delete(run); // the last in order is the last that was looked at
    this.runs.set(run, shown);
    shown.hearers.add(hear);
    this.want();
    return () => {
      shown.hearers.delete(hear);
      const left = [...this.runs].filter(([, each]) => each.hearers.size === 0);
      for (const [old] of left.slice(0, Math.max(0, left.length - KEPT_MOST))) this.runs.delete(old);
      this.want();
    };
  }

  known(run: string): Followed {
    return this.runs.get(run)?.known ?? NOTHING;
  }

  private wanted(): Wanted {
    const shown = [...this.runs].filter(([, each]) => each.hearers.size > 0 && !each.isOver);
    return Object.fromEntries(shown.map(([run, each]) => [run, latest(each.known)]));
  }

  private want(isNew = false): void {
    if (!this.ended) return;
    if (this.reader) this.reader.want(this.ports.tab, this.wanted(), isNew);
    else this.channel?.post({ kind: "want", tab: this.ports.tab, runs: this.wanted(), isNew });
  }

  private hear(message: Message): void {
    if (message.kind === "told") this.take(message.event);
    else if (message.kind === "who") this.want();
    else this.reader?.want(message.tab, message.runs, message.isNew);
  }

  private tell(event: FeedEvent): void {
    this.channel?.post({ kind: "told", event });
    this.take(event);
  }

  private take(event: FeedEvent): void {
    if (event.kind === "entry") this.news(event.entry.run, event);
    else if (event.kind === "delta") this.news(event.delta.run, event);
    else if (event.kind === "lost") for (const run of this.runs.keys()) this.news(run, { lost: true });
    else if (event.kind === "gone") this.end(event.run, true);
    else if (event.kind === "run" && event.run.ended === null) this.end(event.run.id, false); // somebody goes on with it
    for (const hear of this.hearers) hear(event);
  }

  private news(run: string, news: News): void {
    const shown = this.runs.get(run);
    if (!shown) return;
    const before = shown.known;
    shown.known = taken(before, news);
    if (shown.known === before) return;
    for (const hear of shown.hearers) hear();
    if ("entry" in news) this.end(run, isOver(shown.known));
  }

  private end(run: string, isOver: boolean): void {
    const shown = this.runs.get(run);
    if (!shown || shown.isOver === isOver) return;
    shown.isOver = isOver;
    this.want();
  }
}

/** Reads the stream for all tabs. */
class Reader {
  private readonly wants = new Map<string, Record<string, number>>();
  private readonly words = new Map<string, string>();
  private approvals: FeedEvent | undefined;
  private isOpen = false;
  /** The runs of the stream that is open, each with the number of the last entry that came. */
  private at = new Map<string, number>();
  private cut = new AbortController();
  private gathers = false;

  constructor(
    private readonly ports: Ports,
    private readonly tell: (event: FeedEvent) => void,
  ) {}

  /** What a tab wants from now on. */
  want(tab: string, runs: Wanted, isNew: boolean): void {
    const before = this.wants.get(tab) ?? {};
    if (Object.keys(runs).length) this.wants.set(tab, { ...runs });
    else this.wants.delete(tab);
    for (const run of Object.keys(runs)) {
      const text = this.words.get(run);
      if (text && !(run in before)) this.tell({ kind: "delta", delta: { run, text, is_anew: true } });
    }
    if (isNew && this.approvals) this.tell(this.approvals);
    if (isNew && !this.isOpen) this.tell({ kind: "lost" });
    if (this.isShort() && !this.gathers) {
      this.gathers = true;
      void this.ports.wait(GATHER_MS, this.cut.signal).then(() => {
        this.gathers = false;
        if (this.isShort()) this.cut.abort();
      });
    }
  }

  /** Read until the signal, or until the server refuses. */
  async read(signal: AbortSignal): Promise<void> {
    let wait: number = AGAIN_MS[0];
    await this.ports.wait(GATHER_MS, signal);
    while (!signal.aborted) {
      this.cut = new AbortController();
      this.at = this.named();
      this.words.clear();
      const { signal: cut } = this.cut;
      try {
        const run = [...this.at].map(([id, after]) => `${id}:${after}`);
        const answer = await this.ports.open({ run, deltas: true }, AbortSignal.any([signal, cut]));
        wait = AGAIN_MS[0];
        this.isOpen = true;
        this.tell({ kind: "open" });
        for await (const event of events(answer)) {
          const told = parsed(event);
          this.note(told);
          this.tell(told);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!cut.aborted && isRefusal(error)) return this.tell({ kind: "refused" });
      }
      if (signal.aborted || cut.aborted) continue;
      this.isOpen = false;
      this.tell({ kind: "lost" });
      await this.ports.wait(wait, signal);
      wait = Math.min(wait * 2, AGAIN_MS[1]);
    }
  }

  /** The runs to ask for, each behind the entry that all tabs have. */
  private named(): Map<string, number> {
    const found = new Map<string, number>();
    for (const runs of this.wants.values()) {
      for (const [run, after] of Object.entries(runs)) found.set(run, Math.min(after, found.get(run) ?? after));
    }
    return new Map([...found].slice(0, RUNS_MOST));
  }

  /** Whether some tab wants what the stream does not give. */
  private isShort(): boolean {
    return [...this.named()].some(([run, after]) => after < (this.at.get(run) ?? Infinity));
  }

  private note(event: FeedEvent): void {
    if (event.kind === "approvals") this.approvals = event;
    if (event.kind === "delta") {
      const { run, text, is_anew } = event.delta;
      this.words.set(run, (is_anew ? "" : (this.words.get(run) ?? "")) + text);
    }
    if (event.kind === "gone") this.at.delete(event.run);
    if (event.kind !== "entry") return;
    const { run, number } = event.entry;
    if (isLast(event.entry)) this.at.delete(run); // the stream says no more of it, also where somebody goes on with it
    else this.at.set(run, number);
    if (endsWords(event.entry)) this.words.delete(run);
    for (const runs of this.wants.values()) if (runs[run] === number - 1) runs[run] = number;
  }
}

/** Whether it makes no sense to ask again. */
function isRefusal(error: unknown): boolean {
  return isProblem(error) && error.status >= 400 && error.status < 500 && error.status !== 408 && error.status !== 429;
}

function parsed(event: ServerEvent): FeedEvent {
  const data: unknown = JSON.parse(event.data);
  switch (event.name) {
    case "run":
      return { kind: "run", run: data as Run };
    case "approvals":
      return { kind: "approvals", approvals: data as Approvals };
    case "draft":
      return { kind: "draft", draft: data as DraftNews };
    case "delta":
      return { kind: "delta", delta: data as Delta };
    case "gone":
      return { kind: "gone", run: (data as { run: string }).run };
    default:
      return { kind: "entry", entry: data as RunEvent };
  }
}
