import { expect, test } from "vitest";

import { Problem } from "./api";
import { Feed, type FeedEvent, type Message, type Ports } from "./feed";

interface Stream {
  run: string[];
  tell(name: string, data: object): void;
  end(): void;
  isCut(): boolean;
}

/** A browser with tabs, and a server whose streams the test writes. No time passes but what is waited for in turns. */
class World {
  readonly streams: Stream[] = [];
  readonly told = new Map<Feed, FeedEvent["kind"][]>();
  status = 200;
  private readonly tabs = new Map<Feed, (message: Message) => void>();
  private readonly queue: (() => void)[] = [];
  private isHeld = false;

  constructor(private readonly hasLocks = true) {}

  tab(): Feed {
    const feed: Feed = new Feed(this.ports(() => feed));
    const kinds: FeedEvent["kind"][] = [];
    this.told.set(feed, kinds);
    feed.listen((event) => kinds.push(event.kind));
    feed.start();
    return feed;
  }

  get open(): Stream[] {
    return this.streams.filter((each) => !each.isCut());
  }

  private ports(own: () => Feed): Ports {
    return {
      tab: String(this.tabs.size),
      join: (hear) => {
        this.tabs.set(own(), hear);
        return {
          post: (message) => {
            for (const [feed, each] of this.tabs) if (feed !== own()) queueMicrotask(() => each(structuredClone(message)));
          },
          close: () => this.tabs.delete(own()),
        };
      },
      alone: (work, signal) => {
        if (!this.hasLocks) return void work();
        const begin = () => {
          if (signal.aborted) return this.queue.shift()?.();
          this.isHeld = true;
          void work().then(() => {
            this.isHeld = false;
            this.queue.shift()?.();
          });
        };
        if (this.isHeld) this.queue.push(begin);
        else begin();
      },
      wait: () => turns(8),
      open: async ({ run }, signal) => {
        if (this.status !== 200) throw new Problem(this.status, "x", "x");
        let source: ReadableStreamDefaultController<Uint8Array> | undefined;
        let isOver = false;
        const body = new ReadableStream<Uint8Array>({ start: (given) => void (source = given) });
        signal.addEventListener("abort", () => !isOver && source?.error(signal.reason));
        this.streams.push({
          run,
          tell: (name, data) => source?.enqueue(new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)),
          end: () => {
            isOver = true;
            source?.close();
          },
          isCut: () => signal.aborted || isOver,
        });
        return new Response(body);
      },
    };
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const settled = () => turns(60);
const entry = (run: string, number: number, type = "intended", more = {}) => ({ run, number, at: number, type, ...more });
const numbers = (feed: Feed, run: string) => feed.known(run).entries.map((each) => each.number);
const none = () => undefined;

test("eight tabs read one stream, and each knows the runs that it shows", async () => {
  const world = new World();
  const tabs = Array.from({ length: 8 }, () => world.tab());
  tabs.forEach((tab, place) => tab.follow(`r${place}`, none));
  await settled();
  expect(world.open.length).toBe(1);
  const [stream] = world.open;
  expect([...(stream?.run ?? [])].sort()).toEqual(tabs.map((_, place) => `r${place}:-1`));
  for (let place = 0; place < 8; place++) stream?.tell("started", entry(`r${place}`, 0, "started"));
  stream?.tell("delta", { run: "r7", text: "Hel", is_anew: true });
  await settled();
  expect(tabs.map((tab, place) => numbers(tab, `r${place}`))).toEqual(tabs.map(() => [0]));
  expect(tabs[7]?.known("r7").words).toBe("Hel");
  tabs[6]?.follow("r7", none); // a run that is streamed already, from the first entry on and with its words
  await settled();
  expect(world.open.length).toBe(1);
  expect(world.open[0]?.run).toContain("r7:-1");
  expect(world.open[0]?.run).toContain("r1:0");
  expect(tabs.every((tab) => world.told.get(tab)?.includes("open"))).toBe(true);
});

test("a tab that begins anew reads on, also where a browser gives no locks", async () => {
  const world = new World(false);
  const tab = world.tab();
  await settled();
  tab.stop();
  tab.start();
  await settled();
  tab.follow("r", none);
  await settled();
  expect(world.open.map((each) => each.run)).toEqual([["r:-1"]]);
});

test("when the tab that reads is closed another goes on behind the last entry", async () => {
  const world = new World();
  const [first, second] = [world.tab(), world.tab()];
  for (const tab of [first, second]) tab.follow("r", none);
  await settled();
  world.open[0]?.tell("started", entry("r", 0, "started"));
  world.open[0]?.tell("intended", entry("r", 1));
  await settled();
  first.stop();
  await settled();
  expect(world.open.map((each) => each.run)).toEqual([["r:1"]]);
  world.open[0]?.tell("ended", entry("r", 2, "ended", { status: "done" }));
  await settled();
  expect([numbers(second, "r"), numbers(first, "r")]).toEqual([[0, 1, 2], [0, 1]]);
  const third = world.tab();
  await settled();
  third.follow("r", none);
  await settled();
  expect(world.open.map((each) => each.run)).toEqual([["r:-1"]]); // over for the second, new for the third
});

test("a connection that is lost is told, and comes back behind the last entry without the words of before", async () => {
  const world = new World();
  const [first, second] = [world.tab(), world.tab()];
  for (const tab of [first, second]) tab.follow("r", none);
  await settled();
  world.open[0]?.tell("started", entry("r", 0, "started"));
  world.open[0]?.tell("delta", { run: "r", text: "half", is_anew: true });
  await settled();
  world.open[0]?.end();
  await settled();
  expect(world.open.map((each) => each.run)).toEqual([["r:0"]]);
  for (const tab of [first, second]) {
    expect(tab.known("r").words).toBe("");
    expect(world.told.get(tab)?.slice(-2)).toEqual(["lost", "open"]);
  }
});

test("a refusal ends the reading, and is told to every tab once", async () => {
  const world = new World();
  world.status = 401;
  const tabs = [world.tab(), world.tab()];
  await settled();
  expect(world.streams.length).toBe(0);
  expect(tabs.map((tab) => world.told.get(tab)?.includes("refused"))).toEqual([true, true]);
  world.status = 200;
  await settled();
  expect(world.streams.length).toBe(0);
  for (const tab of tabs) tab.stop();
  tabs[1]?.start(); // somebody has signed in again
  await settled();
  expect(world.open.length).toBe(1);
});

test("of 70 runs 64 are followed, and each that is over makes room for another", async () => {
  const world = new World();
  const tab = world.tab();
  for (let place = 0; place < 70; place++) tab.follow(`r${place}`, none);
  await settled();
  expect(world.streams.length).toBe(1);
  expect(world.open[0]?.run.length).toBe(64);
  for (let place = 0; place < 64; place++) world.open[0]?.tell("ended", entry(`r${place}`, 0, "ended", { status: "done" }));
  await settled();
  expect(world.open.map((each) => each.run.length)).toEqual([6]);
});

test("a tab that comes late hears what waits and the words so far; a run that goes on is followed again", async () => {
  const world = new World();
  const [first, other] = [world.tab(), world.tab()];
  const leave = first.follow("r", none);
  const away = other.follow("r", none);
  await settled();
  world.open[0]?.tell("approvals", { items: [], count: 2 });
  world.open[0]?.tell("started", entry("r", 0, "started"));
  await settled();
  away();
  world.open[0]?.tell("delta", { run: "r", text: "Hel", is_anew: true });
  const second = world.tab();
  await settled();
  expect(world.told.get(second)).toContain("approvals");
  other.follow("r", none);
  await settled();
  expect([world.streams.length, other.known("r").words, first.known("r").words]).toEqual([1, "Hel", "Hel"]);
  world.open[0]?.tell("ended", entry("r", 1, "ended", { status: "stopped" }));
  await settled();
  expect(world.streams.length).toBe(1);
  world.open[0]?.tell("run", { id: "r", ended: null });
  await settled();
  world.open[0]?.tell("gone", { run: "r" });
  await settled();
  leave();
  expect(world.streams.at(-1)?.run).toEqual(["r:1"]);
});
