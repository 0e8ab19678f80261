"""The commands, by name: where each stands, and what is known of it without importing it.

`--help` and the completion of a shell read this table alone. A command is imported when it is carried out, or when its
own options are asked for. A test holds the texts equal to those of the commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class KnownCommand(NamedTuple):
    """What is known of a command.

    Attributes:
        place: the module below `cli`, and the name in it: a function, or a `typer.Typer` for a group.
        help: the first paragraph of its help.
        commands: the commands of a group, with the first paragraph of the help of each; empty for one command, and for
            a group that takes options itself.
    """

    place: str
    help: str
    commands: Mapping[str, str] = {}


COMMANDS: Mapping[str, KnownCommand] = {
    "init": KnownCommand(
        "setup.config:init", "Write a commented actum.toml into this folder. A file that is there is left alone."
    ),
    "demo": KnownCommand("conversation.demo:demo", "Watch questions become calls and answers: no key, no network."),
    "docs": KnownCommand(
        "guides.docs:docs", "Read the documentation, without a network: list the pages, show one, find a place."
    ),
    "examples": KnownCommand(
        "guides.examples:app",
        "Worked examples: list them, copy one with what it imports.",
        {
            "list": "List the worked examples, in the order of the history of tool calling.",
            "copy": "Copy an example, with what it imports, into the folder examples.",
        },
    ),
    "run": KnownCommand("conversation.run:run", "Answer a question with the help of tools."),
    "chat": KnownCommand(
        "conversation.chat:chat",
        "Talk: what was said is kept in mind. A paste of several lines is one turn; from a pipe, each line is one.",
    ),
    "ask": KnownCommand(
        "conversation.ask:ask",
        "Answer a question about documents with references that a program has checked, or say that there is no answer.",
    ),
    "call": KnownCommand("conversation.call:call", "Call one tool by hand."),
    "models": KnownCommand(
        "conversation.models:app", "List the models that servers on this machine offer, and choose one."
    ),
    "tools": KnownCommand(
        "tools.commands:app",
        "List tools, show one, print its schema, check them.",
        {
            "update": "Read the document of an API again. What has changed is shown, and is held until you approve it.",
            "rm": "Remove an API. Its secrets are kept.",
            "login": "Log in at an API, in a browser. Nothing opens without a yes.",
            "logout": "Forget the log-in at an API, and give the token back to its issuer.",
            "publish": "Publish a tool under the next number. A tool with a mistake is not published.",
            "rollback": (
                "Publish an older publication anew, under the next number. Runs under way keep the version they began "
                "with."
            ),
            "unpublish": ("Take a tool out of use: from now on no call of it is made, not even by runs under way."),
            "versions": "List the publications of a tool, the latest first.",
            "diff": (
                "Show what differs between two versions of a tool: fields and parameters, and what breaks those who "
                "call it."
            ),
            "list": "List the tools, with what using them does.",
            "search": "Find tools by what they do, as a model finds them. Exit code 1 when there is none.",
            "show": "Show one tool: what it does, what it takes, what using it does.",
            "schema": "Print a tool's JSON Schema, or what a model is told of it in a dialect.",
            "lint": (
                "Say what the tools' descriptions lack, and what nobody says of foreign tools. Exit code 1 when "
                "something is."
            ),
            "discover": "Find what could be tools. Nothing is run; with --add you are asked what to add.",
            "add": "Add an API: a whole document, or one HTTP endpoint.",
        },
    ),
    "mcp": KnownCommand(
        "mcp.commands:app",
        "MCP servers: add, list, test, import, approve, login, remove. And serve: be one.",
        {
            "serve": "Serve tools, files, prompts and runs to MCP clients, in both eras of the protocol.",
            "config": (
                "Print the entry by which a host, such as Claude Desktop, starts `actum mcp serve` in this folder."
            ),
            "add": "Add a server. Nothing is started: its tools are used once you have approved them.",
            "remove": "Take a server out, and take its approvals back.",
            "import": "Take over servers that another client knows. Nothing is started, and no approval is taken over.",
            "list": "List the servers: how they do, what they offer, what waits for approval.",
            "test": "Connect, and tell what the server is and offers. No tool of it is called.",
            "approve": (
                "Look at what a server offers, as it says it, and agree to it. A local one is started for that, once "
                "you agree."
            ),
            "login": (
                "Log in at a server that wants it, in a browser. The address is shown; nothing opens without a yes."
            ),
            "logout": "Forget the login at a server, and tell the server that granted it.",
        },
    ),
    "a2a": KnownCommand(
        "tools.a2a:app",
        "Agents elsewhere, by A2A: look at a card, approve, send, watch a task.",
        {
            "card": "Show the card of an agent as it is now, and whether it is the one that you approved.",
            "approve": "Look at the card of an agent, as it says it, and agree that the agent is asked.",
            "remove": "Take the approval of an agent back.",
            "login": "Log in at an agent that you approved, in a browser. Nothing opens without a yes.",
            "send": "Ask an agent that you approved, as one call on record.",
            "watch": "Show how a task of an agent goes, until it is over or waits for somebody.",
        },
    ),
    "catalog": KnownCommand(
        "tools.catalog:app",
        "The catalog of agents and MCP servers: add, list, search, check.",
        {
            "add": (
                "Register an agent or an MCP server by its address. It is asked what it is; it is not approved by that."
            ),
            "list": "List the entries, with how each was when it was last looked at.",
            "search": "Find entries by what they say of themselves and by your tags.",
            "check": (
                "Look at an entry again and try it: card, send, stream, cancel. An agent gets messages by that, which "
                "may cost something. Exit code 1 when a step fails."
            ),
            "remove": "Take an entry out of the catalog.",
        },
    ),
    "serve": KnownCommand(
        "services.serve:serve", "Serve what actum.toml describes, by every protocol, under one address."
    ),
    "studio": KnownCommand(
        "services.studio:studio", "Open the studio in a browser: chat, approvals, runs, audit and settings."
    ),
    "worker": KnownCommand(
        "services.worker:worker", 'Carry out tasks that come from the broker: [tasks] dispatcher = "celery".'
    ),
    "policy": KnownCommand(
        "tools.policy:app",
        "Try a policy on a call, check it, and publish policies.",
        {
            "test": "Say what the policy says of a call, and why. Nothing is called.",
            "lint": "Say what is wrong with a policy: rules that never fit, checks that can not be made.",
            "publish": "Publish a policy under the next number. A policy with a mistake is not published.",
            "rollback": (
                "Publish an older publication anew, under the next number. It holds at once, for runs under way too."
            ),
            "unpublish": "Take a policy out of use: from now on each call that it would judge is denied.",
            "versions": "List the publications of a policy, the latest first.",
            "list": "List the policies that have a draft or are published.",
            "show": "Show the text of a published policy, or of its draft.",
            "diff": (
                "Show what differs between two versions of a policy, by rule, and by the calls on record that would be "
                "judged otherwise."
            ),
        },
    ),
    "agents": KnownCommand(
        "definitions.agents:app",
        "The agents of actum.toml: list them, show one. And agents that are published.",
        {
            "publish": "Publish an agent under the next number. An agent with a mistake is not published.",
            "rollback": (
                "Publish an older publication anew, under the next number. Runs under way keep the version they began "
                "with."
            ),
            "canary": (
                "Try another publication on a share of the users. Each user always gets the same one. --share 0 ends "
                "the trial; publish and rollback end it, too."
            ),
            "compare": "Compare how the runs of two publications went: ends, seconds, tokens, cost, calls and thumbs.",
            "unpublish": (
                "Take an agent out of use: nothing new begins with it. Runs under way keep the version they began with."
            ),
            "versions": "List the publications of an agent, the latest first.",
            "diff": "Show what differs between two versions of an agent, field by field.",
            "list": "List the agents of the settings and the published ones, with who may use them. Exit code 1 when "
            "an agent can not be built or read.",
            "show": "Show one agent of the settings, with the digest of each part; or the text of a published one. "
            "Secrets are hidden.",
        },
    ),
    "runs": KnownCommand(
        "records.runs:app",
        "What is on record: list runs, show one, end one, write its files, release what is held.",
        {
            "list": "List the latest runs.",
            "cancel": (
                "End a run, wherever it waits or runs, with the runs that its calls began. What it is doing right now "
                "may have happened."
            ),
            "show": "Show a run as a tree: what was said, called, asked and answered, and when.",
            "release": (
                "Release what is held since the journal was restored from a backup: it goes on by itself from now on."
            ),
            "files": "List the files and pictures that the tools of a run made, or write them.",
        },
    ),
    "eval": KnownCommand(
        "records.evaluation:app",
        "Evaluation: cases, experiments, and whether one version is better than another.",
        {
            "add": "Make cases of runs: question, calls and results. Then say in the file what was right.",
            "run": "Ask an agent each case, and score what it did. No tool that may change something is executed.",
            "list": "List your experiments, the latest first.",
            "show": "Show what came of an experiment, and the runs of its cases.",
            "score": "Score the runs of an experiment again. No model is asked.",
            "compare": "Compare two experiments case by case: difference, interval, tags, changed cases.",
            "gate": "Say whether an experiment may pass. Exit code 0: pass; 1: fail; 3: unknown.",
            "export": "Print a small file of an experiment for `gate --against`: digests and scores, no words.",
        },
    ),
    "rate": KnownCommand("records.rate:rate_run", "Say how good the answer of a run was: up or down, or a score."),
    "resume": KnownCommand("conversation.resume:resume", "Go on with a run that waits for a person."),
    "approvals": KnownCommand(
        "records.approvals:app",
        "What waits for a person: list, show, approve, deny, edit.",
        {
            "list": "List what waits, the oldest first.",
            "show": "Show what waits in full: each argument, and where it came from.",
            "approve": "Approve a call, exactly as it was asked.",
            "deny": "Deny a call; the model is told, with your reason.",
            "edit": "Approve a call with other arguments: they are judged anew by the policy, and the model is told.",
            "answer": "Answer a question, fill in a form, hand in a result, or say what became of a call in doubt.",
            "remind": (
                "Remind of what waits: post it to a webhook, once. Let cron call this as often as you like to be "
                "reminded."
            ),
        },
    ),
    "tasks": KnownCommand(
        "records.tasks:app",
        "Tasks: list, show, wait, cancel, retry.",
        {
            "list": "List the latest tasks.",
            "show": "Show a task: its state, progress, attempts and result.",
            "result": "Print the whole result of a task.",
            "cancel": "Cancel a task. What it is doing right now may have happened.",
            "retry": "Begin a task again that failed or timed out. What has an outcome is not done again.",
            "wait": "Wait until a task has ended, or waits for a person; how far it is stands on stderr meanwhile.",
        },
    ),
    "workflow": KnownCommand(
        "definitions.workflow:app",
        "Carry out workflows, check them, draw them, publish them.",
        {
            "publish": "Publish a workflow under the next number. A workflow with a mistake is not published.",
            "rollback": (
                "Publish an older publication anew, under the next number. Runs under way keep the version they began "
                "with."
            ),
            "canary": (
                "Try another publication on a share of the users. Each user always gets the same one. --share 0 ends "
                "the trial; publish and rollback end it, too."
            ),
            "compare": "Compare how the runs of two publications went: ends, seconds, tokens, cost, calls and thumbs.",
            "unpublish": (
                "Take a workflow out of use: nothing new begins with it. Runs under way keep the version they began "
                "with."
            ),
            "versions": "List the publications of a workflow, the latest first.",
            "list": "List the workflows of the settings, and those that have a draft or are published. Exit code 1 "
            "when one of the settings can not be used.",
            "show": "Show the text of a published workflow, or of its draft; or of a workflow of the settings.",
            "diff": "Show what differs between two versions of a workflow: nodes, edges and fields, but no positions.",
            "import": "Import a workflow of another program, and tell what did not come over.",
            "run": "Carry out a workflow.",
            "check": "Tell everything that is wrong with a workflow, with line, column and a hint.",
            "graph": "Draw a workflow.",
        },
    ),
    "prompts": KnownCommand(
        "definitions.prompts:app",
        "Prompts: publish them, compare their versions, take them back.",
        {
            "publish": "Publish a prompt under the next number. A prompt with a mistake is not published.",
            "rollback": (
                "Publish an older publication anew, under the next number. Runs under way keep the version they began "
                "with."
            ),
            "unpublish": (
                "Take a prompt out of use: nothing new begins with it. Runs under way keep the version they began with."
            ),
            "versions": "List the publications of a prompt, the latest first.",
            "list": "List the prompts that have a draft or are published.",
            "show": "Show the text of a published prompt, or of its draft.",
            "diff": "Show what differs between two versions of a prompt, word by word.",
        },
    ),
    "servers": KnownCommand(
        "definitions.servers:app",
        "Places with many tools: publish MCP servers, APIs and remote agents, take them back.",
        {
            "publish": "Publish a server under the next number. A server with a mistake is not published.",
            "rollback": (
                "Publish an older publication anew, under the next number. Runs under way keep the version they began "
                "with."
            ),
            "unpublish": ("Take a server out of use: from now on no call of it is made, not even by runs under way."),
            "versions": "List the publications of a server, the latest first.",
            "list": "List the servers that have a draft or are published.",
            "show": "Show the text of a published server, or of its draft.",
            "diff": "Show what differs between two versions of a server, field by field.",
        },
    ),
    "apply": KnownCommand(
        "definitions.applying:apply",
        (
            "Publish the definitions of a folder together, or none: tools, servers, agents, prompts, policies and "
            "workflows."
        ),
    ),
    "export": KnownCommand(
        "definitions.applying:export",
        "Write what is in use into a folder, a file for each definition. `actum apply` of the folder changes nothing. "
        "Exit code 1 when the text of a definition is damaged; the others are written.",
    ),
    "trigger": KnownCommand(
        "services.trigger:app",
        "What begins runs by itself: add a trigger, list, fire, pause, resume, remove.",
        {
            "list": "List the triggers.",
            "pause": "Pause a trigger: it begins nothing, at any server of this journal, until `actum trigger resume`.",
            "resume": "Have a trigger begin runs again. A schedule does not make up for what it missed.",
            "add": (
                "Add a trigger to the actum.toml of this folder. With none of --schedule, --file and --resource, it "
                "is a webhook."
            ),
            "fire": "Tell a trigger of an event. The run is a task: `actum serve` or `actum worker` carries it out.",
            "remove": "Remove a trigger from the actum.toml of this folder. Runs that it began go on.",
        },
    ),
    "conversations": KnownCommand(
        "records.conversations:app",
        "What was said, turn by turn: list, show, branch off, sum up.",
        {
            "list": "List your conversations.",
            "show": "Show a conversation as the model is told of it, and the runs that it is made of.",
            "branch": "Print the command that goes on from an earlier point, in a conversation of its own.",
            "compact": (
                "Have the model sum up what was said before; it is told the summary from here on. Nothing is deleted."
            ),
        },
    ),
    "memory": KnownCommand(
        "records.memory:app",
        "What is remembered of you across conversations: list, search, show, add, forget, on, off, export, rebuild.",
        {
            "list": "List what is remembered of you, the latest first.",
            "search": "Find what is remembered of you by words, what fits best first.",
            "show": "Show a turn or a note, whole.",
            "add": "Keep words of yours as a note, which is told and found in later conversations.",
            "forget": "Forget a turn or a note, with every turn that says the words of the note; or all of it.",
            "off": "Recall nothing of you and take nothing in, until `actum memory on`.",
            "on": "Recall what is remembered of you, and take in what you say.",
            "export": "Print all that is remembered of you as JSON, one item a line, the latest first.",
            "rebuild": "Make the index of all memories anew from the journal.",
        },
    ),
    "knowledge": KnownCommand(
        "records.knowledge:app",
        "Collections of documents: add, update, list, show, search, readers, remove.",
        {
            "list": "List the collections of documents.",
            "show": "Show a collection: who reads it, and which documents can not be read.",
            "readers": "Set who may read a collection beside its owner, in place of those of before.",
            "remove": "Remove a collection. The files stay where they are.",
            "search": "Find the passages of a collection that answer a question best.",
            "add": (
                "Make a collection of the documents in a folder: Markdown, HTML, PDF, Word, Excel, PowerPoint, text "
                "and code."
            ),
            "update": (
                "Bring collections to what lies in their folders: new and changed files are read, files that are gone "
                "leave."
            ),
        },
    ),
    "references": KnownCommand(
        "records.references:show_references",
        "Check the quotes of a run against the text that was read. Exit code 1 where one does not stand there.",
    ),
    "audit": KnownCommand(
        "records.audit:show_audit", "Who called what, when, with what, why it was allowed, and what came back."
    ),
    "secrets": KnownCommand(
        "setup.secrets:app",
        "Secrets for tools: set one, list them, remove one.",
        {
            "list": "List the secrets: names, owners, when each was set. Values are never shown.",
            "rm": "Remove a secret. A variable of the environment can not be removed here.",
            "set": "Set a secret. The value is asked for and not shown; without a terminal it is read from stdin.",
            "rekey": "Change the key of the secrets: first both keys are valid, and with --finish only the new one.",
        },
    ),
    "telemetry": KnownCommand(
        "records.telemetry:app",
        "The spans of runs: show them, send them.",
        {
            "show": "Show the spans of a run and of the runs that its calls began, as `[telemetry]` has them sent.",
            "send": (
                "Send the spans of runs to the collector of `[telemetry]`, also of runs from before telemetry was "
                "switched on."
            ),
        },
    ),
    "backup": KnownCommand(
        "setup.backup:backup",
        "Back up the journal, the settings and what belongs to them, also while a server is at work.",
    ),
    "restore": KnownCommand(
        "setup.backup:restore_backup",
        "Restore a backup into a new folder. What was unfinished is held: nothing of it goes on or goes out by itself.",
    ),
    "journal": KnownCommand(
        "records.journal:app",
        "The record itself: show, follow, export, verify, branch off, compare, hold, forget.",
        {
            "export": (
                "Print runs as lines of JSON that can be checked without the database: `actum journal verify --file`."
            ),
            "heads": (
                "Print the latest head of every run, and the signed ones. Kept elsewhere, they show what was changed "
                "since."
            ),
            "verify": "Check the chain of every run. Exit code 1 when something is wrong.",
            "fork": (
                "Branch off from a run: take over its records up to one, and go on from there with another model, "
                "tools or result."
            ),
            "compare": "Show where two runs first part, and what each came to.",
            "show": "Show a run's records as they are stored: number, time, head of the chain, bytes.",
            "tail": "Follow a run while another process drives it, until it ends, waits, or is interrupted.",
            "hold": (
                "Hold what is unfinished, once a database was restored: nothing of it goes on or goes out by itself."
            ),
            "forget": "Delete for good what runs say, with the runs that their calls started.",
        },
    ),
    "keys": KnownCommand(
        "services.keys:app",
        "Keys of a server: make one, list them, revoke one.",
        {
            "list": "List the keys, the oldest first, also those that were revoked.",
            "add": "Make a key, and show it. It is shown this once: only a hash of it is kept.",
            "revoke": (
                "Revoke a key: no server of this journal accepts it any more, within a second. This can not be undone."
            ),
        },
    ),
    "features": KnownCommand(
        "setup.features:app",
        "Features: list what packages bring, and delete what one keeps.",
        {
            "list": "List the features that there are, which of them are on, and how much each keeps.",
            "drop": "Delete for good what a feature keeps beside the runs. What stands on the record of runs stays.",
        },
    ),
    "dialects": KnownCommand(
        "tools.dialects:app", "List the ways a model can say a call; print what one of them tells a model."
    ),
    "transcode": KnownCommand(
        "tools.transcode:transcode",
        "Say in one API what was said in another: a request, an answer or a stream, from stdin to stdout.",
    ),
    "config": KnownCommand(
        "setup.config:app",
        "The settings: check the files, show what holds.",
        {
            "check": "Say what is wrong with the settings files, with line and hint. Exit code 1 when something is.",
            "show": "Show each setting that holds, and where it comes from. Secrets are hidden.",
        },
    ),
    "doctor": KnownCommand("setup.doctor:doctor", "Say what is set up here, and what is missing."),
}
"""In the order in which somebody comes to need them."""
