// The pages, in the order of the navigation.
import type { Page } from "./core/page";
import { page as agents } from "./pages/agents/page";
import { page as approvals } from "./pages/approvals/page";
import { page as audit } from "./pages/audit/page";
import { page as chat } from "./pages/chat/page";
import { page as evaluation } from "./pages/evaluation/page";
import { page as knowledge } from "./pages/knowledge/page";
import { page as memory } from "./pages/memory/page";
import { page as runs } from "./pages/runs/page";
import { page as settings } from "./pages/settings/page";
import { page as tools } from "./pages/tools/page";
import { page as workflows } from "./pages/workflows/page";

export const PAGES: readonly Page[] = [chat, workflows, agents, tools, knowledge, memory, runs, evaluation, approvals, audit, settings];
