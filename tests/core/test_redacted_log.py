"""A secret that a tool was given stands in no line that a process writes about itself, whoever writes the line."""

from __future__ import annotations

import asyncio
import base64
import gc
import io
import json
import logging
import logging.handlers
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import msgspec
import pytest

from actum import Agent, Context, ToolCall, redact_logs, tool
from actum.core.secrets.given import GIVEN, KEPT_MAX, TEXT_MAX, GivenSecrets
from actum.testing import ScriptedModel
from tests import warm
from tests.cli.test_serve import HEADERS, META
from tests.effort import effort
from tests.patience import HANGS_S
from tests.server.doors import doors_open

pytestmark = pytest.mark.row("C7")

SECRET = "open sesame, 4711"
MARK = "[redacted: secret]"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the log of the process writes, while it is redacted."""
    GIVEN.add([SECRET])
    stream = io.StringIO()
    undo = redact_logs()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(threadName)s %(message)s %(user)s", defaults={"user": ""}))
    heard = [logging.getLogger(), logging.getLogger("uvicorn.error")]  # a web server hands its lines to no other logger
    for logger in heard:
        logger.addHandler(handler)
    yield stream
    for logger in heard:
        logger.removeHandler(handler)
    undo()


class Sly:
    def __str__(self) -> str:
        return f"sly {SECRET}"


def _raise(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error) as raised:
        return raised


crm = logging.getLogger("crm")
LINES: dict[str, Callable[[], None]] = {
    "an argument": lambda: crm.error("log-in with %s failed", SECRET),
    "the message itself": lambda: crm.error(f"log-in with {SECRET} failed"),
    "an argument by name": lambda: crm.error("log-in with %(key)s failed", {"key": SECRET}),
    "an object": lambda: crm.error("log-in with %s failed", Sly()),
    "in base64": lambda: crm.error("sent %s", base64.b64encode(f"ada:{SECRET}".encode()).decode()),
    "cut between message and argument": lambda: crm.error("open %s", SECRET.removeprefix("open ")),
    "arguments that do not fit": lambda: crm.error("%d tries", SECRET),
    "too many arguments": lambda: crm.error("tries", SECRET),
    "a field": lambda: crm.error("log-in failed", extra={"user": SECRET}),
    "a field that is an object": lambda: crm.error("log-in failed", extra={"user": Sly()}),
    "deep in a field": lambda: crm.error("log-in failed", extra={"user": {"a": [{SECRET: Sly()}]}}),
    "a traceback": lambda: crm.error("log-in failed", exc_info=_raise(ValueError(SECRET))),
    "the class of an exception": lambda: crm.error("log-in failed", exc_info=_raise(type(SECRET, (ValueError,), {})())),
    "the cause of an exception": lambda: crm.error(
        "log-in failed", exc_info=_raise(ExceptionGroup("several", [KeyError(SECRET)]))
    ),
    "the stack": lambda: crm.error("log-in failed", stack_info=True, extra={"user": SECRET}),
    "the name of a logger": lambda: logging.getLogger(f"crm.{SECRET}").error("log-in failed"),
    "a logger of the web server": lambda: logging.getLogger("uvicorn.error").critical("refused %s", SECRET),
    "the root logger": lambda: logging.getLogger().error(SECRET),
    "an adapter": lambda: logging.LoggerAdapter(crm, {"user": SECRET}).error("log-in failed"),
    "an exception that nobody waits for": lambda: asyncio.run(_lost()),
    "an error of the event loop": lambda: asyncio.run(_told_to_loop()),
}


async def _lost() -> None:
    async def fail() -> None:
        raise ValueError(SECRET)

    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    del task
    gc.collect()


async def _told_to_loop() -> None:
    asyncio.get_running_loop().call_exception_handler({"message": "lost", "exception": _raise(ValueError(SECRET))})


@pytest.mark.parametrize("name", LINES)
def test_a_secret_stands_in_no_line_of_the_log(name: str, written: io.StringIO) -> None:
    LINES[name]()
    said = written.getvalue()
    assert MARK in said or "can not be put in" in said
    assert "sesame" not in said


def test_a_line_that_is_too_long_is_cut_and_the_secret_at_the_cut_is_not_told(written: io.StringIO) -> None:
    before = "x" * (TEXT_MAX - len(SECRET) // 2)
    with effort() as spent:
        crm.error(before + SECRET + "%41&#65;" * 500_000)
    told = written.getvalue()
    assert "more characters]" in told
    assert SECRET[:4] not in told
    assert len(told) < TEXT_MAX + 1_000
    assert spent.calls < 30_000


def test_a_handler_that_is_added_later_or_behind_a_queue_gets_clean_records_too(written: io.StringIO) -> None:
    late = io.StringIO()
    records: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    listener = logging.handlers.QueueListener(records, logging.StreamHandler(late))
    handlers = [logging.StreamHandler(late), logging.handlers.QueueHandler(records)]
    for handler in handlers:
        crm.addHandler(handler)
    crm.error("log-in with %s failed", SECRET)
    listener.handle(records.get())
    listener.handle(logging.makeLogRecord({"msg": "from elsewhere: %s", "args": (SECRET,)}))
    for handler in handlers:
        crm.removeHandler(handler)
    assert late.getvalue() == f"log-in with {MARK} failed\n" * 2 + f"from elsewhere: {MARK}\n"


def test_a_handler_that_overrides_handle_and_writes_all_fields_as_json_is_told_no_secret(written: io.StringIO) -> None:
    """A secret that is a number, in a field that is a number, and a secret as the name of a field are secrets, too."""
    lines: list[str] = []

    class Direct(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            lines.append(record.getMessage() + json.dumps(vars(record), default=str))
            return True

    GIVEN.add(["48151623"])
    handler = Direct()
    crm.addHandler(handler)
    crm.error("log-in with %s failed", SECRET, extra={"pin": 48151623, "pins": [48151623.0], SECRET: 1, "tries": 3})
    crm.removeHandler(handler)
    assert "sesame" not in lines[0]
    assert "48151623" not in lines[0]
    assert '"tries": 3' in lines[0]
    assert MARK in written.getvalue()


def test_a_handler_finds_neither_the_exception_nor_the_arguments(written: io.StringIO) -> None:
    kept: list[logging.LogRecord] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record)

    handler = Keeping()
    crm.addHandler(handler)
    crm.error("log-in with %s failed", SECRET, exc_info=_raise(ValueError(SECRET)), extra={"password": "x", "tries": 3})
    crm.removeHandler(handler)
    (record,) = kept
    fields = vars(record)
    assert (record.exc_info, record.args, fields["password"], fields["tries"]) == (
        None,
        None,
        "[redacted: password]",
        3,
    )
    assert "sesame" not in json.dumps(fields, default=repr)
    assert "ValueError: " in str(record.exc_text)


@pytest.mark.parametrize("way", ["emits", "formats", "filters", "hides its error"])
def test_a_handler_that_fails_loses_its_line_and_nothing_else(
    way: str, written: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if way == "formats":
                try:
                    raise ValueError(SECRET)
                except ValueError:
                    self.handleError(record)
            raise type(SECRET, (RuntimeError,), {})(SECRET)

        def filter(self, record: logging.LogRecord) -> bool:
            if way == "filters":
                raise RuntimeError(SECRET)
            return True

    handler = Failing()
    crm.addHandler(handler)
    crm.error("log-in failed")
    crm.removeHandler(handler)
    assert "log-in failed" in written.getvalue(), "the other handler has its line"
    said = capsys.readouterr().err
    assert "a line of the log is lost" in said
    assert "sesame" not in said


def test_a_value_can_not_write_a_line_of_its_own(written: io.StringIO) -> None:
    logging.getLogger("actum.server").error("no tool %s", "x\n2026-01-01 ERROR all keys are gone\x1b[2J")
    crm.error("two\nlines\x9b1m")
    said = written.getvalue()
    assert "no tool x\\n2026-01-01 ERROR all keys are gone\\x1b[2J" in said
    assert "two\n    lines\\x9b1m" in said


def test_the_folders_of_the_shell_are_no_passwords(written: io.StringIO) -> None:
    redact_logs(
        {"PWD": "/srv/an/app", "OLDPWD": "/srv/a/web", "MYSQL_PWD": "hunter22 twice", "PGPASSWORD": "let me in"}
    )
    logging.getLogger("crm").error("/srv/an/app/actum.toml, /srv/a/web/x: hunter22 twice, let me in")
    assert f"/srv/an/app/actum.toml, /srv/a/web/x: {MARK}, {MARK}" in written.getvalue()


def test_without_secrets_a_record_stays_as_it_was(written: io.StringIO) -> None:
    crm.error("%s of %d: %s", "one", 2, {"a": 1}, extra={"user": ("ada", 3)})
    assert written.getvalue() == "crm MainThread one of 2: {'a': 1} ['ada', 3]\n"


HOOKS: dict[str, str] = {
    "an exception that ends the program": "raise ValueError(SECRET)",
    "the name of its class": "raise type(SECRET, (ValueError,), {})()",
    "an exception that ends a thread": "t = threading.Thread(target=int, args=(SECRET,)); t.start(); t.join()",
    "an exception in __del__": "class A:\n    def __del__(self): raise ValueError(SECRET)\nA()",
    "a warning": "warnings.warn(SECRET)",
    "a warning that goes to the log": "logging.basicConfig(); logging.captureWarnings(True); warnings.warn(SECRET)",
    "a log without a handler": "logging.getLogger('crm').error(SECRET)",
    "a variable of the program": "logging.getLogger('crm').error('key %s', os.environ['CRM_API_KEY'])",
    "a thread that a tool started": "t = threading.Thread(target=logging.error, args=(SECRET,)); t.start(); t.join()",
}


@pytest.mark.parametrize("name", HOOKS)
def test_a_secret_stands_in_nothing_that_ends_a_program(name: str) -> None:
    program = f"""
import logging, os, threading, warnings
from actum import Context, ToolCall, redact_logs
redact_logs(os.environ)
SECRET = Context(
    run_id="r", call=ToolCall("1", "x", {{}}), key="k", attempt=1, principal="", deps=None, attachments={{}},
    secrets={{"CRM": "open" + " sesame, 4711"}},
).secret("CRM")
{HOOKS[name]}
"""
    environment = {**os.environ, "CRM_API_KEY": "a-key-of-the-program"}
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert MARK in done.stderr
    assert "sesame" not in done.stderr
    assert "a-key-of" not in done.stderr


@tool(effects={"read"})
async def log_in(user: str, password: str, ctx: Context) -> str:
    """Log in.

    Args:
        user: Who.
        password: The password.
    """
    crm.error("log-in of %s with %s and %s failed", user, password, ctx.secret("CRM"))
    await asyncio.to_thread(crm.error, "again: %s", password)
    raise type(f"With {ctx.secret('CRM')}", (RuntimeError,), {})(password)


async def test_what_a_tool_logs_is_clean_and_a_password_of_a_caller_is_looked_for_during_its_call_alone(
    written: io.StringIO,
) -> None:
    call = ToolCall("1", "log_in", {"user": "ada", "password": "failed"})
    agent = Agent(ScriptedModel([call, "No."]), [log_in], secrets={"CRM": "another sesame"})
    result = await agent.run("Log in")
    crm.error("log-in failed")
    said = written.getvalue()
    assert "sesame" not in said
    assert f"log-in of ada with {MARK} and {MARK} {MARK}" in said, "whatever the caller chose as a password"
    assert f"again: {MARK}" in said
    assert "log-in failed" in said.splitlines()[-1], "after the call it is a word like any other"
    stored = b"".join(entry.payload for entry in await agent.journal.read(result.run_id))
    assert b"sesame" not in stored, "nor does the record of the failure hold the name of its class"


def test_a_process_forgets_the_secrets_that_were_not_given_for_the_longest_time() -> None:
    given = GivenSecrets()
    given.add(f"secret number {number}" for number in range(3 * KEPT_MAX))
    given.add([f"secret number {2 * KEPT_MAX}"])
    given.add(["the last one"])
    assert given.without(f"secret number {3 * KEPT_MAX - 1}") == MARK
    assert given.without(f"secret number {2 * KEPT_MAX}, the last one") == f"{MARK}, {MARK}"
    assert given.without("secret number 17") == "secret number 17"


def test_two_threads_may_add_and_ask() -> None:
    given = GivenSecrets()
    failures: list[str] = []

    def work(name: str) -> None:
        for number in range(300):
            given.add([f"{name} secret {number}"])
            if given.without(f"with {name} secret {number}") != f"with {MARK}":
                failures.append(f"{name} {number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


CRM = """\
import logging, warnings
from actum import Context, tool


@tool(effects={'read'})
def customers(ctx: Context) -> str:
    '''All customers.'''
    logging.getLogger('crm').error('log-in with %s failed', ctx.secret('CRM'))
    warnings.warn(ctx.secret('CRM'))
    raise type(ctx.secret('CRM'), (ValueError,), {})(ctx.secret('CRM'))
"""


@pytest.mark.parametrize("command", ["call", "run"])
def test_the_log_of_a_command_is_clean(command: str, tmp_path: Path) -> None:
    (tmp_path / "crm.py").write_text(CRM)
    words = {"call": ["call", "customers"], "run": ["run", "customers {}", "--model", "embedded"]}[command]
    done = warm.run(
        [sys.executable, "-m", "actum", *words, "--tools", "crm.py", "--journal", "memory"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "ACTUM_SECRET_CRM": SECRET, "ACTUM_DEBUG": "1", "HOME": str(tmp_path)},
        check=False,
    )
    assert "sesame" not in done.stdout + done.stderr
    if command == "call":
        assert f"log-in with {MARK} failed" in done.stderr


@pytest.mark.parametrize("execute_async", [False, True], ids=["in the server", "in the process of a task"])
async def test_the_log_of_a_server_is_clean(execute_async: bool, tmp_path: Path) -> None:
    (tmp_path / "crm.py").write_text(CRM)
    more = {"ACTUM_SECRET_CRM": SECRET, "ACTUM_DEBUG": "1"}
    async with doors_open(tmp_path, 'tools = ["crm.py"]\n', **more) as place:
        body: dict[str, object] = {"arguments": {}} | ({"execute_async": True} if execute_async else {})
        told = await place.http("POST", "/v1/tools/customers/call", body)
        if execute_async:
            task = msgspec.json.decode(told.text)["task_id"]
            told = await place.http("GET", f"/v1/tasks/{task}?wait=30")
    log = "".join(place.server.said)
    assert "sesame" not in log + told.text
    assert "tool_bug" in told.text
    assert execute_async or f"log-in with {MARK} failed" in log


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_log_of_an_mcp_server_is_clean(transport: str, tmp_path: Path) -> None:
    (tmp_path / "crm.py").write_text(CRM)
    words = ["-m", "actum", "mcp", "serve", "--tools", "crm.py", "--journal", "memory"]
    variables = {"HOME": str(tmp_path), "ACTUM_SECRET_CRM": SECRET, "ACTUM_DEBUG": "1"}
    process = await warm.start(
        *(sys.executable, *words, *(("--http", "127.0.0.1:0") if transport == "http" else ())),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env=variables,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    params = {"name": "customers", "arguments": {}, "_meta": META}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    try:
        async with asyncio.timeout(HANGS_S):
            if transport == "stdio":
                process.stdin.write(msgspec.json.encode(call) + b"\n")
                told = (await process.stdout.readline()).decode()
                log = ""
            else:
                log = (await process.stderr.readline()).decode()
                url = next(word for word in log.split() if "://" in word).rstrip(",")
                headers = {**HEADERS, "mcp-name": "customers"}
                async with httpx2.AsyncClient(timeout=HANGS_S) as client:
                    told = (await client.post(url, json=call, headers=headers)).text
    finally:
        process.kill()
        out, err = await process.communicate()
    log += out.decode() + err.decode()
    assert "isError" in told
    assert "sesame" not in log + told
    assert f"log-in with {MARK} failed" in log


LARGE_FIELDS: dict[str, object] = {
    "object": {f"n{n}": n for n in range(20_000)},
    "list": [{"b": n} for n in range(20_000)],
    "lists": [[1] * 900] * 900,
}


@pytest.fixture
def no_secrets_given() -> None:
    """Those that other tests gave to tools of this process would count: each is looked for in each value."""
    GIVEN.__init__()  # type: ignore[misc]


@pytest.mark.usefixtures("no_secrets_given")
@pytest.mark.parametrize("field", LARGE_FIELDS)
def test_of_a_large_field_of_a_record_the_first_values_are_kept(field: str) -> None:
    record = logging.makeLogRecord({"msg": "x", "name": "crm", "field": LARGE_FIELDS[field]})
    handler = logging.StreamHandler(io.StringIO())
    end = redact_logs()
    try:
        handler.handle(logging.makeLogRecord({"msg": "x", "name": "crm", "field": [1]}))  # what is compiled only once
        with effort() as spent:
            handler.handle(record)
    finally:
        end()
    assert spent.calls < 20_000
    assert "too many values" in str(vars(record)["field"])
