"""`actum chat`: a conversation. What was said stays in the journal and can be gone on with.

At a terminal a turn is what a person sends with Enter, several lines where several were pasted. Out of a pipe each line
is a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...agents.agent import Agent
from ...compose.settings import MEMORY, Settings
from ...core.errors import ActumError, Busy, ContextOverflow, UsageError
from ...core.event import RunResult
from ...core.interfaces import Journal
from ...core.message import UserMessage
from ...core.run.ids import new_id
from ...journal.conversations import as_they_stand
from ...journal.named import find_run
from ...journal.timeline import Timeline
from ...knowledge.citing.cited import quoted_in
from ...scores.rating import NotOver, rate
from ...scores.score import THUMB, ScoreGiven
from ...storage.folders import state_folder
from .. import loading, options
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..recorded import show_recorded
from ..show.terminal import Terminal, said, who
from ..show.tool_table import show_tools
from ..show.trace import Trace, run_as_json
from .approve import approver_at
from .attachments import GivenFile, read_file, told, with_files
from .flags import AgentFlags, ConversationFlags, ModelFlags, RunFlags, settings_of, spread
from .going_on import chat_command, resume_command
from .models import choose_model
from .prompts import Prompts, usage
from .run import NO_LANGUAGE_MODEL, report

if TYPE_CHECKING:
    from .line_editor import ChatWords, LineEditor

PROMPTS_S = 1.0
"""Seconds for which servers are waited for before the first line, to complete the names of their prompts."""

RUNS_OFFERED = 50
"""The most of the latest runs that are offered where a run can be named."""


@spread
def chat(*, parts: AgentFlags, asking: ModelFlags, talk: ConversationFlags, how: RunFlags) -> int:
    """Talk: what was said is kept in mind. A paste of several lines is one turn; from a pipe, each line is one."""
    settings = settings_of(parts, asking, how, instructions=talk.instructions)
    terminal = Terminal()
    settings = choose_model(settings, terminal, as_json=how.as_json)
    files = [read_file(path) for path in talk.attach or []]
    opened = options.open_journal(settings)
    with asyncio.Runner() as runner:
        try:
            approver = approver_at(terminal, yes=how.yes)
            opening = loading.agent_with_servers(settings, opened, approver, terminal)
            agent, servers = runner.run(opening.__aenter__())
            try:
                prompts = Prompts(servers)
                chat = Chat(
                    terminal,
                    runner,
                    agent,
                    opened,
                    settings,
                    prompts,
                    files,
                    verbose=how.verbose,
                    as_json=how.as_json,
                    memory=not talk.no_memory,
                )
                return chat.go_on(talk.conversation or new_id("conv"), talk.after, talk.owner)
            finally:
                runner.run(opening.__aexit__(None, None, None))
        finally:
            runner.run(opened.close())


class Chat:
    """One conversation at a terminal, or out of a pipe.

    Args:
        runner: the event loop; each turn is one of its runs, which Ctrl-C ends.
        files: what goes along with the first turn.
    """

    def __init__(
        self,
        terminal: Terminal,
        runner: asyncio.Runner,
        agent: Agent,
        journal: Journal,
        settings: Settings,
        prompts: Prompts,
        files: Sequence[GivenFile] = (),
        *,
        verbose: bool,
        as_json: bool,
        memory: bool = True,
    ) -> None:
        self._terminal = terminal
        self._memory = memory
        self._runner = runner
        self._agent = agent
        self._journal = journal
        self._settings = settings
        self._prompts = prompts
        self._conversation = self._after = ""
        self._owner = who()
        self._as_json = as_json
        self._trace = Trace(
            terminal, verbose=verbose and not as_json, streaming=not as_json, quiet=as_json, model=agent.model
        )
        self._files = list(files)
        self._question_id = ""
        self._code = DONE
        self._editor: tuple[LineEditor, ChatWords] | None = None
        self._commands: dict[str, tuple[Callable[[str], None], str]] = {
            "/tools": (self._tools, "list the tools; /tools NAME: those of this name"),
            "/trace": (
                self._switch_trace,
                "the last turn as a tree; /trace RUN: another run; /trace on, /trace off: every step as it comes",
            ),
            "/attach": (self._attach, "give a file along with what you say next: /attach picture.png"),
            "/new": (self._new, "begin a new conversation"),
            "/compact": (
                self._compact,
                "have the model sum up what was said before; /compact 5 leaves 5 turns as they are",
            ),
            "/up": (self._up, "say that the last answer was good: /up [comment]"),
            "/down": (self._down, "say that the last answer was bad: /down [comment]"),
            "/help": (self._help, "this list"),
        }

    def go_on(self, conversation: str, after: str = "", owner: str | None = None) -> int:
        """Turn after turn, until the input ends. The exit code: of a pipe, whether every turn was answered.

        Args:
            conversation: its id.
            after: the run after which the first turn goes on, where that is not the latest.
            owner: whose conversation it is; None for the person's own.
        """
        self._conversation, self._after = conversation, after
        self._owner = who() if owner is None else owner
        if self._terminal.person:
            self._welcome()
        if self._files and not self._as_json:
            self._terminal.note(told(self._files))
        self._runner.run(self._look_back())
        while True:
            try:
                line = self._next_line()
                if line is None or line.strip() in ("/quit", "/exit"):
                    break
                if line.strip():
                    self._take(line.strip())
            except (KeyboardInterrupt, asyncio.CancelledError):
                self._trace.close()
                self._terminal.note(tr("cancelled"))
                self._runner.run(self._look_back())
        if self._terminal.person and self._trace.run_id:
            more = ["--owner", self._owner] if self._owner != who() else []
            way = chat_command(self._settings, self._conversation, *more)
            self._terminal.note(tr("To go on with this conversation: {command}", command=way))
        return DONE if self._terminal.person else self._code

    def _next_line(self) -> str | None:
        """What the person says next; None at the end of input."""
        line = self._typed() if self._terminal.person else sys.stdin.readline() or None
        return None if line is None else said(line)

    def _typed(self) -> str | None:
        from .line_editor import Interrupted  # noqa: PLC0415  # the editor takes long to load

        try:
            return self._runner.run(self._read_from_person())
        except Interrupted:
            self._terminal.note(tr("Ctrl-D leaves"))
            return ""

    async def _read_from_person(self) -> str | None:
        """What the person types, with the names that can be completed as they are now."""
        if self._editor is None:
            self._editor = await self._open_editor()
        editor, words = self._editor
        with contextlib.suppress(ActumError):  # a journal that is away spoils the completion alone
            runs = await self._journal.runs(owner=self._owner, tenant="", limit=RUNS_OFFERED)
            words.runs = [run.run_id for run in runs]
        return await editor.read()

    async def _open_editor(self) -> tuple[LineEditor, ChatWords]:
        from .line_editor import ChatWords, LineEditor  # noqa: PLC0415  # only a person at a terminal needs an editor

        words = ChatWords()
        words.tools = [tool.name for tool in await self._agent.list_tools()]
        words.commands = {word: tr(line) for word, (_, line) in self._commands.items()} | {"/quit": tr("leave")}
        with contextlib.suppress(TimeoutError):  # a slow server keeps nobody from typing
            async with asyncio.timeout(PROMPTS_S):
                offered = await self._prompts.list()
                words.commands = {**words.commands, **{word: usage(each) for word, (_, each) in offered.items()}}
        colour = self._terminal.err.color_system is not None
        return LineEditor(_history_file(self._settings), words, colour=colour), words

    def _take(self, line: str) -> None:
        """What the person said: a command, or a turn."""
        word, _, rest = line.partition(" ")
        if word in self._commands:
            self._commands[word][0](rest.strip())
        elif word.startswith("/") and ":" in word:
            self._tried(lambda: self._prompt(word, rest.strip(), line))
        elif word.startswith("/") and word[1:].isalpha():
            self._terminal.error("there is no command {word}; /help lists them", word=word)
        else:
            self._tried(lambda: self._turn(line))

    def _tried(self, turn: Callable[[], int]) -> None:
        """Take a turn. What goes wrong in it does not end the conversation."""
        try:
            self._code = max(self._code, turn())
        except NotOver as error:
            self._terminal.error(str(error))
        except Busy:
            self._trace.close()
            self._terminal.error(
                "somebody else is in the middle of a turn of this conversation. Nothing was sent: say it again in a "
                "moment, or /new begins a conversation of your own"
            )
            self._code = FAILED
        except ContextOverflow as error:
            self._trace.close()
            self._terminal.error(str(error))
            self._terminal.note("/compact sums up this conversation, and /new begins another one")
            self._code = FAILED
        except ActumError as error:
            self._trace.close()
            self._terminal.error(str(error))
            self._code = FAILED

    def _prompt(self, word: str, typed: str, line: str) -> int:
        """A turn that a server's prompt begins; where there is none of this word, it is what the person says."""
        message = self._runner.run(self._prompts.fill(word, typed))
        if message is not None and not self._as_json:
            self._terminal.note(message.text)
        return self._turn(line if message is None else message)

    def _turn(self, turn: str | UserMessage) -> int:
        result = self._runner.run(self._answer(UserMessage.of(turn)))
        self._trace.close()
        questions = [pending.id for pending in result.pending if pending.kind == "answer"]
        self._question_id = questions[0] if questions else ""
        if self._as_json:
            references = self._runner.run(quoted_in(self._journal, result.run_id))
            self._terminal.json(run_as_json(result, self._agent.model.name, references))
        elif self._question_id:
            self._terminal.text(result.text)
        if self._question_id:  # the next line is the answer
            return DONE
        return report(self._terminal, result, self._settings, quiet=self._as_json)

    async def _answer(self, message: UserMessage) -> RunResult:
        """The next turn; or, when the last one ended in a question, the answer to it."""
        question_id, self._question_id = self._question_id, ""
        if question_id:
            return await self._agent.resume(self._trace.run_id, {question_id: message.text}, emit=self._trace.show)
        files, self._files = self._files, []
        try:
            result = await self._agent.run(
                with_files(message, files, await self._agent.list_tools() if files else ()),
                conversation=self._conversation,
                owner=self._owner,
                after=self._after,
                principal=who(),
                memory=self._memory,
                emit=self._trace.show,
            )
        except Busy:
            self._files = files  # nothing was sent
            raise
        self._after = ""
        return result

    async def _look_back(self) -> None:
        """Say so if the latest turn did not come to its end, or nobody knows whether one of its calls happened."""
        runs = await self._journal.runs(conversation=self._conversation, owner=self._owner, tenant="", limit=1)
        latest = await as_they_stand(self._journal, runs)
        for run in latest:
            timeline = Timeline(await self._journal.read(run.run_id))
            doubtful = [call.call.name for call in timeline.calls() if call.in_doubt and run.status != "running"]
            if doubtful:
                names = ", ".join(doubtful)
                self._terminal.note(tr("Nobody knows whether this happened in the last turn: {names}.", names=names))
            if doubtful or run.status in ("interrupted", "waiting", "paused"):
                command = resume_command(self._settings, run.run_id)
                self._terminal.note(tr("To go on with that turn first: {command}", command=command))

    def _welcome(self) -> None:
        tools = self._runner.run(self._agent.list_tools())
        name = self._agent.model.name
        welcome = "{name} · {count:tool|tools} · /help for help, Ctrl-D to leave"
        self._terminal.note(tr(welcome, name=name, count=len(tools)))
        if name == "embedded":
            self._terminal.note(tr(NO_LANGUAGE_MODEL))

    def _tools(self, name: str) -> None:
        tools = self._runner.run(self._agent.list_tools())
        show_tools(self._terminal, [tool for tool in tools if name in tool.name])

    def _attach(self, path: str) -> None:
        try:
            if not path:
                raise UsageError("/attach: name a file, as in /attach picture.png")
            files = [*self._files, read_file(path)]
            with_files(UserMessage.of(""), files)  # refuses them where they are too large together
        except UsageError as error:
            self._terminal.error(str(error))
            return
        self._files = files
        self._terminal.note(told(files))

    def _switch_trace(self, word: str) -> None:
        if word in ("on", "off"):
            self._trace.verbose = word == "on"
            self._terminal.note(f"every step is {'shown' if word == 'on' else 'kept to itself'} from here on")
        elif not (word or self._trace.run_id):
            self._terminal.note(tr("nothing was said yet"))
        else:
            self._tried(lambda: self._runner.run(self._show_run(word or self._trace.run_id)))

    async def _show_run(self, wanted: str) -> int:
        run = await find_run(self._journal, wanted)
        await show_recorded(self._terminal, self._journal, run.run_id, self._agent.runner.labels)
        return DONE

    def _new(self, _: str) -> None:
        self._conversation, self._after, self._question_id = new_id("conv"), "", ""
        self._owner = who()
        self._terminal.note(tr("a new conversation: {id}", id=self._conversation))

    def _compact(self, word: str) -> None:
        if word and not word.isdecimal():
            self._terminal.error("/compact {word}: say how many turns stay as they are, as in /compact 5", word=word)
            return
        keep = int(word) if word else None

        def turn() -> int:
            summing = self._agent.compact(self._conversation, keep=keep, principal=who(), owner=self._owner)
            summary = self._runner.run(summing)
            if self._as_json:
                self._terminal.json({"conversation": self._conversation, "summary": summary})
            else:
                self._terminal.text((summary, "dim"))
            return DONE

        self._tried(turn)

    def _up(self, comment: str) -> None:
        self._rate(1.0, comment)

    def _down(self, comment: str) -> None:
        self._rate(0.0, comment)

    def _rate(self, value: float, comment: str) -> None:
        run_id = self._trace.run_id
        if not run_id:
            self._terminal.note(tr("nothing was said yet"))
            return

        def put() -> int:
            given = ScoreGiven(name=THUMB, value=value, explanation=comment, by=who())
            self._runner.run(rate(self._journal, run_id, given))
            self._terminal.note(tr("noted: {thumb}", thumb=tr("up") if value else tr("down")))
            return DONE

        self._tried(put)

    def _help(self, _: str) -> None:
        rows = [(word, tr(line)) for word, (_, line) in self._commands.items()]
        offered = self._runner.run(self._prompts.list())
        rows += [(word, f"{usage(prompt)}  (a prompt of a server)") for word, (_, prompt) in offered.items()]
        keys = [("/quit", "leave; so does Ctrl-D"), ("Ctrl-C", "end this turn and keep the chat")]
        keys += [("Alt-Enter", "begin a new line; so does Enter after a backslash"), ("Tab", "complete a name")]
        self._terminal.table("", "", rows=[*rows, *((key, tr(line)) for key, line in keys)])


def _history_file(settings: Settings) -> Path | None:
    """Where it is kept what a person typed in chats: nowhere, where they want no record of their runs either."""
    if settings.journal == MEMORY:
        return None
    try:
        return state_folder(os.environ) / "chat_history"
    except UsageError:  # there is no home folder
        return None
