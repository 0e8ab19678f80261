"""`actum chat`: a conversation. Each line is a turn; what was said stays in the journal and can be gone on with."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable

from ..agents.agent import Agent
from ..compose.agents import make_agent
from ..compose.models import make_model
from ..compose.settings import Settings
from ..core.errors import ActumError, Busy, ContextOverflow
from ..core.event import RunResult
from ..core.interfaces import Journal
from ..core.message import UserMessage
from ..core.record import new_id
from ..journal.conversations import as_they_stand
from ..journal.timeline import Timeline
from . import options
from .approve import TerminalApprover
from .flags import AgentFlags, ConversationFlags, ModelFlags, RunFlags, settings_of, spread
from .going_on import chat_command, resume_command
from .models import choose_model
from .prompts import Prompts, usage
from .run import DONE, FAILED, NO_LANGUAGE_MODEL, report
from .runs import show_recorded
from .show.terminal import (
    Terminal,
    interruptible,
    said,
    who,
)
from .show.trace import Trace, run_as_json
from .tools import show_tools


@spread
def chat(*, parts: AgentFlags, asking: ModelFlags, talk: ConversationFlags, how: RunFlags) -> int:
    """Talk: each line is a turn, and what was said is kept in mind."""
    settings = settings_of(parts, asking, how, instructions=talk.instructions)
    terminal = Terminal()
    settings = choose_model(settings, terminal, as_json=how.as_json)
    opened = options.open_journal(settings)
    with asyncio.Runner() as runner:
        try:
            approver = TerminalApprover(terminal, yes=how.yes)
            opening = options.tools(settings, terminal)
            loaded = runner.run(opening.__aenter__())
            try:
                agent = make_agent(settings, make_model(settings), loaded.tools, journal=opened, approver=approver)
                prompts = Prompts(loaded.servers)
                chat = Chat(
                    terminal, runner, agent, opened, settings, prompts, verbose=how.verbose, as_json=how.as_json
                )
                return chat.go_on(talk.conversation or new_id("conv"), talk.after, talk.owner)
            finally:
                runner.run(opening.__aexit__(None, None, None))
        finally:
            runner.run(opened.close())


class Chat:
    """One conversation at a terminal, or out of a pipe.

    Args:
        runner: the event loop, of which each turn is a run that Ctrl-C ends.
    """

    def __init__(
        self,
        terminal: Terminal,
        runner: asyncio.Runner,
        agent: Agent,
        journal: Journal,
        settings: Settings,
        prompts: Prompts,
        *,
        verbose: bool,
        as_json: bool,
    ) -> None:
        self._terminal = terminal
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
        self._question_id = ""
        self._code = DONE
        self._commands: dict[str, tuple[Callable[[str], None], str]] = {
            "/tools": (self._tools, "list the tools"),
            "/trace": (self._switch_trace, "the last turn as a tree; /trace on, /trace off: every step as it comes"),
            "/new": (self._new, "begin a new conversation"),
            "/compact": (
                self._compact,
                "have the model sum up what was said before; /compact 5 leaves 5 turns as they are",
            ),
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
                self._terminal.note("cancelled")
                self._runner.run(self._look_back())
        if self._terminal.person and self._trace.run_id:
            more = ["--owner", self._owner] if self._owner != who() else []
            way = chat_command(self._settings, self._conversation, *more)
            self._terminal.note(f"To go on with this conversation: {way}")
        return DONE if self._terminal.person else self._code

    def _next_line(self) -> str | None:
        """The next line; None at the end of input."""
        if not self._terminal.person:
            line: str | None = sys.stdin.readline() or None
        else:
            try:
                line = _read_line(self._terminal)
            except KeyboardInterrupt:
                self._terminal.err.print()
                self._terminal.note("Ctrl-D leaves")
                line = ""
        return None if line is None else said(line)

    def _take(self, line: str) -> None:
        """One line: a command, or a turn."""
        word, _, rest = line.partition(" ")
        if word in self._commands:
            self._commands[word][0](rest.strip())
        elif word.startswith("/") and ":" in word:
            self._tried(lambda: self._prompt(word, rest.strip(), line))
        elif word.startswith("/") and word[1:].isalpha():
            self._terminal.error(f"there is no command {word}; /help lists them")
        else:
            self._tried(lambda: self._turn(line))

    def _tried(self, turn: Callable[[], int]) -> None:
        """Take a turn. What goes wrong in it does not end the conversation."""
        try:
            self._code = max(self._code, turn())
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
            self._terminal.json(run_as_json(result, self._agent.model.name))
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
        result = await self._agent.run(
            message,
            conversation=self._conversation,
            owner=self._owner,
            after=self._after,
            principal=who(),
            emit=self._trace.show,
        )
        self._after = ""
        return result

    async def _look_back(self) -> None:
        """Say so if the latest turn did not come to its end, or nobody knows whether one of its calls happened."""
        runs = await self._journal.runs(conversation=self._conversation, owner=self._owner, limit=1)
        latest = await as_they_stand(self._journal, runs)
        for run in latest:
            timeline = Timeline(await self._journal.read(run.run_id))
            doubtful = [call.call.name for call in timeline.calls() if call.in_doubt and run.status != "running"]
            if doubtful:
                self._terminal.note(f"Nobody knows whether this happened in the last turn: {', '.join(doubtful)}.")
            if doubtful or run.status in ("interrupted", "waiting", "paused"):
                self._terminal.note(f"To go on with that turn first: {resume_command(self._settings, run.run_id)}")

    def _welcome(self) -> None:
        tools = self._runner.run(self._agent.list_tools())
        name = self._agent.model.name
        self._terminal.note(f"{name} · {len(tools)} tools · /help for help, Ctrl-D to leave")
        if name == "embedded":
            self._terminal.note(NO_LANGUAGE_MODEL)

    def _tools(self, _: str) -> None:
        show_tools(self._terminal, self._runner.run(self._agent.list_tools()))

    def _switch_trace(self, word: str) -> None:
        if word in ("on", "off"):
            self._trace.verbose = word == "on"
            self._terminal.note(f"every step is {'shown' if word == 'on' else 'kept to itself'} from here on")
        elif not self._trace.run_id:
            self._terminal.note("nothing was said yet")
        else:
            self._runner.run(show_recorded(self._terminal, self._journal, self._trace.run_id))

    def _new(self, _: str) -> None:
        self._conversation, self._after, self._question_id = new_id("conv"), "", ""
        self._owner = who()
        self._terminal.note(f"a new conversation: {self._conversation}")

    def _compact(self, word: str) -> None:
        if word and not word.isdecimal():
            self._terminal.error(f"/compact {word}: say how many turns stay as they are, as in /compact 5")
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

    def _help(self, _: str) -> None:
        rows = [(word, line) for word, (_, line) in self._commands.items()]
        offered = self._runner.run(self._prompts.list())
        rows += [(word, f"{usage(prompt)}  (a prompt of a server)") for word, (_, prompt) in offered.items()]
        keys = [("/quit", "leave; so does Ctrl-D"), ("Ctrl-C", "end this turn and keep the chat")]
        self._terminal.table("", "", rows=[*rows, *keys])


def _read_line(terminal: Terminal) -> str | None:
    """A line of the person's, with the keys of an editor and the lines before it at hand where the system has them.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    if not terminal.live:  # input() would write its prompt into the pipe
        return terminal.ask("> ")
    prompt = "> "
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401, PLC0415  # it changes input() for the whole process: only a chat wants that

        if terminal.out.color_system is not None:
            prompt = "\x01\x1b[1;36m\x02> \x01\x1b[0m\x02"  # between \x01 and \x02 stands what has no width
    try:
        with interruptible():
            return input(prompt)
    except EOFError:
        terminal.err.print()
        return None
