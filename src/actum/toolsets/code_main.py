"""Runs a text of code whose `main` gets arguments and returns a value, in a jail.

Nodes of workflows and declared tools run code in this way; `code.py` runs code that gives its last value back.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from msgspec import structs

from ..core.errors import ToolError
from ..core.json import Json, JsonObject, JsonProblem, dumps, parse
from ..sandbox.jail import Jail
from ..transport.egress import Egress
from .code import find_node
from .jailed_command import CommandOutput, run_command

_RESULT = ".result"
_INPUTS = "inputs.json"

_PYTHON = f"""\
import json, sys
sys.path.append(sys.path.pop(0))
given = json.load(open({_INPUTS!r}, encoding="utf-8"))
names = {{"__name__": "workflow_code"}}
exec(compile(open("code.py", encoding="utf-8").read(), "code.py", "exec"), names)
value = names["main"](**given)
open({_RESULT!r}, "w", encoding="utf-8").write(json.dumps(value))
"""
_JAVASCRIPT = f"""\
const fs = require("fs");
globalThis.require = require("module").createRequire(process.cwd() + "/code.js");
const given = JSON.parse(fs.readFileSync("{_INPUTS}", "utf8"));
const main = require("vm").runInThisContext(fs.readFileSync("code.js", "utf8") + "\\nmain;", {{ filename: "code.js" }});
Promise.resolve(main(given)).then((value) => fs.writeFileSync("{_RESULT}", JSON.stringify(value ?? null)));
"""


async def run_main(
    language: str,
    code: str,
    inputs: JsonObject,
    jail: Jail,
    *,
    files: Mapping[str, bytes] | None = None,
    egress: Egress | None = None,
) -> Json:
    """Run code to its end.

    Args:
        language: `python` calls `main(**inputs)`, `javascript` calls `main(inputs)`; anything else is a shell script,
            which finds its inputs in `inputs.json`.
        code: the text.
        inputs: the arguments.
        jail: what the code may do.
        files: what lies in the work folder beside the code.
        egress: the operator's rules for outgoing calls, where the jail names hosts.

    Returns:
        What `main` returned; of a shell script, what it printed.

    Raises:
        Unavailable, ResourceLimit, ToolError: as `run_command`; ToolError too where `main` returned no JSON.
    """
    given = {**(files or {}), _INPUTS: dumps(inputs).encode()}
    if language == "python":
        given |= {"code.py": code.encode(), ".run.py": _PYTHON.encode()}
        output = await run_command([sys.executable, ".run.py"], jail, given, collect=(_RESULT,), egress=egress)
    elif language == "javascript":
        node = find_node()
        jail = structs.replace(jail, read=(*jail.read, str(node)))
        given |= {"code.js": code.encode(), ".run.cjs": _JAVASCRIPT.encode()}
        output = await run_command([str(node), ".run.cjs"], jail, given, collect=(_RESULT,), egress=egress)
    else:
        given["script.sh"] = code.encode()
        return (await run_command(["sh", "script.sh"], jail, given, egress=egress)).said
    return _result(output)


def _result(output: CommandOutput) -> Json:
    written = output.files.get(_RESULT)
    if written is None and output.left_out:
        raise ToolError("What main() returned could not be taken. {left_out}", left_out=output.left_out)
    if written is None:
        raise ToolError("The code ended before main() had returned a value.")
    try:
        return parse(written)[0]
    except JsonProblem as problem:
        raise ToolError("What main() returned is no JSON: {why}", why=problem) from None
