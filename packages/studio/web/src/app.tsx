// The frame of all pages: who is signed in, the navigation, and what is told to everybody.
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Link,
  Outlet,
  redirect,
  RouterProvider,
  useLocation,
} from "@tanstack/react-router";
import { useEffect, useReducer, useRef } from "react";

import { ask, isLost, isProblem } from "./core/api";
import { answeredBy, useApprovals } from "./core/approvals";
import { chunk } from "./core/chunk";
import { useConnection, useFeed } from "./core/follow";
import { usePreferences, useText } from "./core/language";
import type { Page } from "./core/page";
import { keepToken, onToken, token } from "./core/session";
import { COMMON } from "./core/texts";
import { told } from "./core/shown";
import type { Approval, Session } from "./core/types";
import { PAGES } from "./pages";
import { Failure } from "./parts/failure";
import { Keys } from "./parts/keys";
import { useFocus } from "./parts/focus";
import { SignIn } from "./parts/sign-in";
import { useTold, tell } from "./parts/status";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (count, error) => count < 2 && isLost(error),
      networkMode: "always", // a server on this machine is there without a network
      refetchOnWindowFocus: true,
      staleTime: 1_000,
    },
    mutations: { networkMode: "always" },
  },
});

/** Whether this server wants a key, and who else signs a person in. It is asked before anybody has come in. */
export interface Door {
  wants_key: boolean;
  providers: { name: string; url: string }[];
}

export function useDoor() {
  return useQuery({ queryKey: ["door"], queryFn: () => ask<Door>("GET", "/studio/sign-in.json"), staleTime: Infinity });
}

/** Another tab of this browser has signed in or out. What is shown stays where it is the same person. */
async function followTab(): Promise<void> {
  const before = queries.getQueryData<Session>(["session"])?.user;
  if (token()) await queries.refetchQueries({ queryKey: ["session"] });
  if (before !== undefined && before !== queries.getQueryData<Session>(["session"])?.user) await queries.resetQueries();
}

export function useSession() {
  const isOpen = useDoor().data?.wants_key === false;
  return useQuery({
    queryKey: ["session"],
    queryFn: ({ signal }) => ask<Session>("GET", "/v1/session", { signal }),
    enabled: isOpen || token() !== "",
    staleTime: 60_000,
  });
}

/** Whether this person may make tools and agents: the server asks again for each request. */
export function useBuilds(): boolean {
  const scopes = useSession().data?.scopes ?? [];
  return scopes.includes("build") || scopes.includes("admin");
}


/** Whether a person may see this page: the server asks again for each request. */
export function isSeen(page: Page, session: Session): boolean {
  const allowed = !page.scopes || session.scopes.includes("admin") || page.scopes.some((each) => session.scopes.includes(each));
  return allowed && (!page.feature || session.features.includes(page.feature));
}

function Frame() {
  const say = useText(COMMON);
  const session = useSession();
  const door = useDoor();
  const [, look] = useReducer((count: number) => count + 1, 0);
  useEffect(
    () =>
      onToken(() => {
        look();
        void followTab();
      }),
    [],
  );
  if ((token() === "" && door.data?.wants_key) || isProblem(session.error, 401)) {
    return (
      <SignIn
        providers={door.data?.providers ?? []}
        onSignedIn={() => {
          look();
          void queries.resetQueries();
        }}
      />
    );
  }
  if (door.isError && !door.data) {
    return (
      <main>
        <Failure error={door.error} onRetry={() => void door.refetch()} />
      </main>
    );
  }
  if (session.isPending) return <p className="hint">{say("loading")}</p>;
  if (!session.data) {
    return (
      <main>
        <Failure error={session.error} onRetry={() => session.refetch()} />
      </main>
    );
  }
  return <SignedIn session={session.data} />;
}

function SignedIn({ session }: { session: Session }) {
  const say = useText(COMMON);
  const main = useRef<HTMLElement>(null);
  const count = useWaiting(session);
  const nav = useShownLink(count);
  useFeed();
  useFocus(main);
  async function leave() {
    await ask("DELETE", "/v1/session").catch(() => undefined); // the session may be over already
    keepToken("");
    queries.clear();
    location.assign("/studio/");
  }
  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {say("skip")}
      </a>
      <header>
        <span className="brand">actum</span>
        <nav aria-label={say("main")} ref={nav}>
          <ul>
            {PAGES.filter((page) => isSeen(page, session)).map((page) => (
              <li key={page.name}>
                <PageLink page={page} count={page.name === "approvals" ? count : 0} />
              </li>
            ))}
          </ul>
        </nav>
        <span className="who">{told(session.user)}</span>
        <button type="button" onClick={leave}>
          {say("signOut")}
        </button>
      </header>
      <Connection />
      <main id="main" ref={main} tabIndex={-1}>
        <Outlet />
      </main>
      <Told />
      <Keys />
    </>
  );
}

/** On a narrow screen the navigation scrolls: the link of the page that is open is brought into view, also when the count of what waits has
 * made another link wider. */
function useShownLink(count: number) {
  const nav = useRef<HTMLElement>(null);
  const place = useLocation({ select: (each) => each.pathname });
  useEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>("[aria-current=page]");
    if (nav.current && link) nav.current.scrollLeft += link.getBoundingClientRect().left - nav.current.getBoundingClientRect().left - (nav.current.clientWidth - link.offsetWidth) / 2;
  }, [place, count]);
  return nav;
}

function PageLink({ page, count }: { page: Page; count: number }) {
  const title = useText(page.title)("title");
  return (
    <Link to={`/${page.name}`} activeProps={{ "aria-current": "page" }}>
      {count ? `${title} (${count})` : title}
    </Link>
  );
}

/** The line that tells of what happens on other pages: a new approval, a lost connection. */
function Told() {
  const { text, number } = useTold();
  return (
    <p role="status" className="told">
      {text && <span key={number}>{text}</span>}
    </p>
  );
}

/** Says when the connection to the server is lost, for as long as it is. */
function Connection() {
  const say = useText(COMMON);
  const isLost = useConnection((each) => each.isLost);
  return (
    <p role="status" className="lost">
      {isLost ? say("offline") : ""}
    </p>
  );
}

/** How many approvals wait; each new one is told once, and who answered one elsewhere. */
function useWaiting(session: Session): number {
  const say = useText(COMMON);
  const known = useRef<Map<string, Approval>>(undefined);
  const may = session.scopes.some((each) => ["admin", "approve", "runs"].includes(each));
  const { data } = useApprovals(may);
  useEffect(() => {
    if (!data) return;
    const before = known.current;
    known.current = new Map(data.items.map((each) => [each.id, each]));
    const last = data.items.findLast((each) => before && !before.has(each.id));
    if (last) tell(say("newApproval", { tool: told(last.tool || last.kind) }));
    for (const gone of before?.values() ?? []) {
      if (known.current.has(gone.id) || data.next) continue;
      void answeredBy(gone).then(
        (who) => who && tell(say("answeredBy", { who: told(who), tool: told(gone.tool || gone.kind) })),
        () => undefined, // it was another tenant's, or is forgotten: there is nobody to name
      );
    }
  }, [data, say]);
  return data?.count ?? 0;
}

function Missing() {
  return <p>{useText(COMMON)("gone")}</p>;
}

/** A page that broke says so, and can be tried again, which a browser does with a failed import only from anew; the others go on. */
function Broken({ error }: { error: unknown }) {
  return <Failure error={error} onRetry={() => location.reload()} />;
}

const root = createRootRoute({ component: Frame, notFoundComponent: Missing });
const start = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/chat" as string });
  },
});
const routes = PAGES.map((page) =>
  createRoute({ getParentRoute: () => root, path: page.path, component: lazyRouteComponent(() => chunk(page.load)) }),
);
const router = createRouter({ routeTree: root.addChildren([start, ...routes]), basepath: "/studio", defaultErrorComponent: Broken });

export function App() {
  const language = usePreferences((each) => each.language);
  return (
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} key={language} />
    </QueryClientProvider>
  );
}
