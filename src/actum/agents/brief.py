"""`Brief`: what an agent tells its model before a question: the instructions, and the form of the answer. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..core.errors import ReplayDiverged, UsageError
from ..core.json import JsonObject, dumps
from ..core.run.record import Started
from ..knowledge.citing.sources import QUOTE
from ..runs.wording import Phrases
from .citing import Cite, read_cite
from .gates import TRIES, AnswerRules, CheckAnswer, ReadAnswer, plain
from .output import fitting, typed

if TYPE_CHECKING:
    from typing_extensions import TypeForm


class Brief(Struct, frozen=True):
    """What an agent tells its model before a question.

    Attributes:
        instructions: the text, or what makes the text anew for each run.
        schema: the JSON Schema of the agent's answers; None where the agent answers with text.
        read: reads an answer.
        check: of the program, what else is wrong with an answer; None where there is none.
        tries: after as many answers that are refused, a run is stopped.
        references: calls of one reply may use each other's results, and the model is told so.
        cite: how the answers are held to what was quoted.
        client_schema: the JSON Schema that a client of a server wants an answer to fit, for one run; None for none.
    """

    instructions: str | Callable[[], str]
    schema: JsonObject | None = None
    read: ReadAnswer = plain
    check: CheckAnswer | None = None
    tries: int = TRIES
    references: bool = False
    cite: Cite = ""
    client_schema: JsonObject | None = None

    @classmethod
    def of(
        cls,
        instructions: str | Callable[[], str],
        output_type: TypeForm[object],
        check: CheckAnswer | None = None,
        tries: int = TRIES,
        *,
        references: bool = False,
        cite: bool | str = False,
    ) -> Brief:
        """The brief of an agent whose answers are of a type.

        Raises:
            UsageError: no answer can be of this type; or an agent that cites has an output type.
        """
        cites = read_cite(cite, is_text=output_type is str)
        schema, read = (None, plain) if output_type is str else typed(output_type)
        return cls(instructions, schema, read, check, tries, references, cites)

    def for_client(self, schema: JsonObject | None) -> Brief:
        """The same with the form of an answer that a client wants; see `Agent.with_client_tools`."""
        if schema is not None:
            read_cite(self.cite, is_text=False)
            if self.schema is not None:
                raise UsageError("this agent answers in a form of its own: leave out the schema of the answer")
            fitting(schema)
        return structs.replace(self, client_schema=schema)

    @property
    def part(self) -> object:
        """What the agent's digest covers of the instructions: the text, or the name of the function."""
        told = self.instructions if isinstance(self.instructions, str) else [self.instructions.__qualname__]
        added = [*(["references"] if self.references else []), *([f"cite:{self.cite}"] if self.cite else [])]
        return [told, *added] if added else told

    def told(self, question: str, client_schema: JsonObject | None = None, quote: str = "") -> str:
        """The instructions of a run, as the model is told of them.

        Args:
            question: what the user says; its language is that of what is added.
            client_schema: the JSON Schema that a client wants the answer to fit.
            quote: what the tool is called by which the model cites.
        """
        instructions = self.instructions if isinstance(self.instructions, str) else self.instructions()
        schema = client_schema if self.schema is None else self.schema
        if schema is None and not (self.references or self.cite):
            return instructions
        phrases = Phrases.for_text(question)
        references = phrases.references() if self.references else ""
        form = "" if schema is None else phrases.output(dumps(schema))
        return "\n\n".join(filter(None, [instructions, references, phrases.cite(self.cite, quote), form]))

    def form(self, started: Started) -> tuple[JsonObject | None, AnswerRules]:
        """The JSON Schema of the answer of a run, and what is asked of the answer: by a client, or by the agent."""
        schema, read = self.schema, self.read
        if started.answer_schema is not None and schema is None:
            schema, read = started.answer_schema, fitting(started.answer_schema)
        return schema, AnswerRules(read, self.check, self.tries)

    def check_same(self, run_id: str, started: Started, quote: str) -> None:
        """Before a recorded run goes on: it was started with these instructions.

        Args:
            run_id: the run.
            started: how the run was started.
            quote: as for `told`.

        Raises:
            ReplayDiverged: it was not.
        """
        if not isinstance(self.instructions, str):
            return  # rendered anew for each run
        # Until it was told by its name, the tool was told as `quote`, whatever it was called.
        told = [self.told(started.question, started.answer_schema, each) for each in {quote, QUOTE}]
        if started.instructions not in told:
            raise ReplayDiverged(
                "run {run}: the agent's instructions are not those it was started with. Resume with "
                "the same, or pass accept=True to go on with the recorded ones.",
                run=run_id,
            )
