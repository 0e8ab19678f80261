"""What a script says of itself as a tool: the header, and the arguments of `argparse` or typer. Nothing is run. Pure.

The header is a block of comments that holds TOML, in the form that PEP 723 has for such blocks:

    # /// tool
    # description = "Plots a table."
    # effects = ["read"]
    # files = ["table"]
    # [parameters.table]
    # type = "string"
    # ///

Where the header has no `parameters`, the calls of `add_argument`, or the signature of the one typer command, are read
from the syntax of the script. What can't be read with certainty is refused, with its line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from ..core.call import Problem
from ..core.errors import BadTool, InvalidArguments, UsageError
from ..core.json import Json, JsonObject, dumps
from ..core.toml import read_toml
from ..core.tool import Effects

BEGIN = "# /// tool"
END = "# ///"
EXAMPLE = f'{BEGIN}\n# description = "..."\n{END}'
_TYPES: dict[str, JsonObject] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "Path": {"type": "string"},
    "pathlib.Path": {"type": "string"},
}


class ScriptHeader(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The header of a script.

    Attributes:
        name: of the tool; empty for the name of the file.
        description: for the model.
        effects: what the script does. The jail holds it: without `write` the script gets no folder to write. None where
            the header does not say; then the tool's effect is `execute`.
        arguments: `stdin` hands the arguments over as one JSON object on stdin, `words` as words of the command line.
            Empty: `words` for what is read from `argparse` or typer, else `stdin`.
        parameters: JSON Schema of each parameter. A parameter with a `default` may be left out.
        files: the parameters that are handles of attachments. The script finds the file under the name that it gets.
        hosts: the hosts of the operator's jail that the script reaches; none where this is empty.
        timeout_s: seconds that one call may take; None for the jail's own limit.
    """

    name: str = ""
    description: str = ""
    effects: tuple[Effects, ...] | None = None
    arguments: Literal["", "stdin", "words"] = ""
    parameters: dict[str, JsonObject] | None = None
    files: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    timeout_s: float | None = None


class Parameter(Struct, frozen=True, kw_only=True):
    """One parameter of a script, and its place among the words of a command line.

    Attributes:
        name: of the parameter.
        schema: JSON Schema of its value.
        required: it may not be left out.
        option: `--name` or `-n`; empty for an argument without a name.
        flag: the option has no value: it stands there for True. With `no_flag` another stands there for False.
        no_flag: see `flag`.
        repeated: of a list, the option stands before each value, and not once before all.
    """

    name: str
    schema: JsonObject
    required: bool
    option: str = ""
    flag: bool = False
    no_flag: str = ""
    repeated: bool = True


def check_read_only_hosts(read_only_hosts: Sequence[str], hosts: Sequence[str]) -> None:
    """See that each host which counts as read only is one of the hosts that scripts may reach.

    Raises:
        UsageError: one is not.
    """
    for host in read_only_hosts:
        if host not in hosts:
            raise UsageError(
                "read_only_hosts: {host!r} is not one of the hosts that scripts may reach; see `hosts`", host=host
            )


def read_header(text: str) -> ScriptHeader:
    """The header of a script.

    Raises:
        BadTool: there is none, or it is not as it should be; the message says which line is missing or wrong.
    """
    lines = text.splitlines()
    begins = [number for number, line in enumerate(lines) if line.rstrip() == BEGIN]
    if not begins:
        raise BadTool(
            "the line `{begin}` is missing; a script is a tool by the lines:\n{example}", begin=BEGIN, example=EXAMPLE
        )
    if len(begins) > 1:
        raise BadTool("line {begins}: a second header; a script is one tool", begins=begins[1] + 1)
    body: list[str] = []
    for line in lines[begins[0] + 1 :]:
        if line.rstrip() == END:
            break
        if line.rstrip() != "#" and not line.startswith("# "):
            raise BadTool(
                "line {begins}: the header ends without the line `{end}`", begins=begins[0] + len(body) + 2, end=END
            )
        body.append(line[2:])
    else:
        raise BadTool("the line `{end}` is missing at the end of the header", end=END)
    try:
        return msgspec.convert(read_toml("\n".join(body)), ScriptHeader)
    except ValueError as error:  # of TOML or of msgspec
        raise BadTool("the header that begins in line {begins}: {why}", begins=begins[0] + 1, why=error) from None


def parameters_of(header: ScriptHeader, text: str, *, is_python: bool) -> tuple[Parameter, ...]:
    """The parameters of a script.

    Raises:
        BadTool: they can't be read with certainty.
    """
    if header.parameters is not None:
        return tuple(_declared(name, schema) for name, schema in header.parameters.items())
    if not is_python:
        return ()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadTool("the script can't be read: {why}", why=error) from None
    found = [*_argparse(tree)] or [*_typer(tree)]
    doubled = {each.name for each in found if [other.name for other in found].count(each.name) > 1}
    if doubled:
        raise BadTool("two parameters are called {pop!r}; write `parameters` into the header", pop=doubled.pop())
    return tuple(found)


def description_of(header: ScriptHeader, text: str, *, is_python: bool) -> str:
    """The description in the header, else the docstring of a Python script."""
    if header.description or not is_python:
        return header.description
    try:
        return ast.get_docstring(ast.parse(text)) or ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def words_of(parameters: Sequence[Parameter], arguments: JsonObject) -> list[str]:
    """Arguments as the words of a command line. No value can be taken for an option.

    Raises:
        InvalidArguments: a value that can't stand there.

    >>> table = Parameter(name="table", schema={}, required=True)
    >>> rows = Parameter(name="rows", schema={}, required=False, option="--rows")
    >>> words_of([table, rows], {"table": "-rf", "rows": 3})
    ['--rows=3', '--', '-rf']
    """
    options: list[str] = []
    bare: list[str] = []
    for each in parameters:
        value = arguments.get(each.name)
        if value is None:
            continue
        if each.flag:
            options += [word for word in (each.option if value is True else each.no_flag,) if word]
            continue
        values = [_word(each.name, item) for item in (value if isinstance(value, list) else [value])]
        if not each.option:
            bare += values
        elif isinstance(value, list) and not each.repeated:
            for item in values:
                if item.startswith("-"):
                    raise InvalidArguments([Problem(each.name, "value", "a text that does not begin with -", item)])
            options += [each.option, *values] if values else []
        else:
            options += [_option(each.option, item) for item in values]
    return [*options, *(["--", *bare] if bare else [])]


def _option(option: str, value: str) -> str:
    return f"{option}={value}" if option.startswith("--") else f"{option}{value}"


def _word(name: str, value: Json) -> str:
    word = value if isinstance(value, str) else dumps(value)
    if "\0" in word:
        raise InvalidArguments([Problem(name, "value", "a text without a zero byte", "a text with one")])
    return word


def _declared(name: str, schema: JsonObject) -> Parameter:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name):
        raise BadTool("parameters: {name!r} is no name; use letters, digits, `_` and `-`", name=name[:80])
    flag = schema.get("type") == "boolean"
    return Parameter(name=name, schema=schema, required="default" not in schema, option=f"--{name}", flag=flag)


# argparse -------------------------------------------------------------------------------------------------------------


def _argparse(tree: ast.Module) -> Iterator[Parameter]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method == "add_subparsers":
            raise _unreadable(call, "a script with subcommands is no single tool")
        if method == "add_argument":
            yield _argument(call)


def _argument(call: ast.Call) -> Parameter:
    names = [_constant(word, call) for word in call.args]
    given = {keyword.arg or "": keyword.value for keyword in call.keywords}
    if not names or not all(isinstance(name, str) and name for name in names) or "" in given:
        raise _unreadable(call, "its names are not written out")
    texts = [str(name) for name in names]
    options = [text for text in texts if text.startswith("-")]
    long = next((option for option in options if option.startswith("--")), "")
    option = long or (options[0] if options else "")
    action = str(_constant(given["action"], call)) if "action" in given else "store"
    if action not in ("store", "store_true", "store_false", "append"):
        raise _unreadable(call, f"action={action!r} is not known here")
    dest = str(_constant(given["dest"], call)) if "dest" in given else ""
    schema: JsonObject = dict(_type(given["type"], call)) if "type" in given else {"type": "string"}
    if "choices" in given:
        choices = _constant(given["choices"], call)
        if not isinstance(choices, list | tuple) or not all(isinstance(each, str | int | float) for each in choices):
            raise _unreadable(call, "its choices are no list of texts or numbers")
        schema["enum"] = [*choices]
    nargs = _constant(given["nargs"], call) if "nargs" in given else None
    is_list = action == "append" or (nargs is not None and nargs != "?")
    if is_list:
        schema = {"type": "array", "items": schema}
    if isinstance(nargs, int):
        schema |= {"minItems": nargs, "maxItems": nargs}
    flag = action in ("store_true", "store_false")
    if flag:
        schema = {"type": "boolean"}
        if action == "store_false":
            schema["description"] = "True sets the option, which turns something off."
    if "help" in given and isinstance(told := _constant(given["help"], call), str):
        schema["description"] = told.replace("%%", "%")
    optional = nargs in ("?", "*") or flag
    required = not optional if not option else bool("required" in given and _constant(given["required"], call))
    name = dest or option.lstrip("-").replace("-", "_") or texts[0]
    return Parameter(name=name, schema=schema, required=required, option=option, flag=flag, repeated=action == "append")


def _type(node: ast.expr, call: ast.Call) -> JsonObject:
    name = ast.unparse(node)
    if name not in _TYPES or name == "bool":  # `type=bool` takes each word for True
        raise _unreadable(call, f"type={name} is not known here")
    return _TYPES[name]


# typer ----------------------------------------------------------------------------------------------------------------


def _typer(tree: ast.Module) -> Iterator[Parameter]:
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    commands = [node for node in functions.values() if any(_is_command(word) for word in node.decorator_list)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "typer.run" and len(node.args) == 1:
            commands += [functions[name] for name in (ast.unparse(node.args[0]),) if name in functions]
    if len(commands) > 1:
        raise _unreadable(commands[1], "a script with several commands is no single tool")
    for command in commands:
        arguments = command.args
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
            raise _unreadable(command, "its parameters are not all named")
        plain = [None] * (len(arguments.args) - len(arguments.defaults))
        for argument, default in zip(arguments.args, [*plain, *arguments.defaults], strict=True):
            yield _typed(argument, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            yield _typed(argument, default)


def _is_command(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr == "command"


def _typed(argument: ast.arg, default: ast.expr | None) -> Parameter:
    node = argument.annotation
    said: ast.Call | None = None
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Annotated", "typing.Annotated"):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        said = next((part for part in parts[1:] if isinstance(part, ast.Call)), None)
        node = parts[0] if parts else None
    if isinstance(default, ast.Call):
        raise _unreadable(argument, "write the default behind `=`, and typer.Option or typer.Argument in Annotated")
    kind = ast.unparse(node) if node is not None else "str"
    kind = kind.removesuffix(" | None")
    is_list = kind.startswith("list[") and kind.endswith("]")
    inner = kind[5:-1] if is_list else kind
    if inner not in _TYPES:
        raise _unreadable(argument, f"the type {kind} is not known here")
    schema = dict(_TYPES[inner])
    if is_list:
        schema = {"type": "array", "items": schema}
    way = ast.unparse(said.func).rpartition(".")[2] if said is not None else ""
    if said is not None:
        helped = next((word.value for word in said.keywords if word.arg == "help"), None)
        if helped is not None and isinstance(told := _constant(helped, argument), str):
            schema["description"] = told
    is_option = way == "Option" or (way != "Argument" and default is not None)
    flag = inner == "bool" and not is_list and is_option
    names = [_constant(word, argument) for word in said.args] if said is not None and is_option else []
    spoken = [str(name) for name in names if isinstance(name, str) and name.startswith("--")]
    if names and not spoken:
        raise _unreadable(argument, "give the option a name that begins with --")
    option = (spoken[0] if spoken else f"--{argument.arg.replace('_', '-')}") if is_option else ""
    option, _, no_flag = option.partition("/")
    if flag and not spoken:
        no_flag = f"--no-{option.removeprefix('--')}"
    return Parameter(
        name=argument.arg, schema=schema, required=default is None, option=option, flag=flag, no_flag=no_flag
    )


def _constant(node: ast.expr, at: ast.expr | ast.arg) -> object:
    try:
        found: object = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        raise _unreadable(at, f"{ast.unparse(node)[:60]} is not written out") from None
    return found


def _unreadable(node: ast.expr | ast.arg | ast.stmt, why: str) -> BadTool:
    return BadTool("line {line}: {why}; write `parameters` into the header", line=node.lineno, why=why)
