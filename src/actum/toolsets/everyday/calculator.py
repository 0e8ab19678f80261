"""`calculate`: arithmetic as people write it, in a language of its own. Nothing is evaluated as Python.

It knows numbers, `+ - * / // % ^ **`, brackets, `!`, percent, some functions and constants, and the signs × ÷ · − （）.
`%` before a number or a bracket is the remainder, anywhere else it is percent: `17 % 5` is 2, `15% * 80` is 12.
Whole numbers are exact up to 1,200 digits; everything else is a 64-bit float, told to 12 digits.

Limits: 500 characters, 50 levels of brackets, no variables, no complex numbers. No sum of money should hang on a float.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypedDict

from ...core.errors import ToolError

Number = int | float

LENGTH_MAX = 500
DEPTH_MAX = 50
BITS_MAX = 4000
FACTORIAL_MAX = 400
EXACT_MAX = 2**53

_SIGNS = str.maketrans("×·✕÷−–（）［］，。＋－＊／％＾！　", "***/--()(),.+-*/%^! ")
_WORDS = (
    (re.compile(r"\bpercent\b|百分号", re.IGNORECASE), "%"),
    (re.compile(r"(?<=%)\s*(?:of|的)\b", re.IGNORECASE), "*"),
)
_GROUPED = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?![\d,])")
_TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(\*\*|//|[-+*/%^(),!√])|([A-Za-zπ_][A-Za-z0-9_]*))"
)


class Calculation(TypedDict):
    """What `calculate` returns. `result` is text where a whole number is too large for JSON readers to keep exact."""

    expression: str
    result: int | float | str


def calculate(expression: str) -> Calculation:
    """Calculate an arithmetic expression exactly: sums, products, powers, percent, square roots, trigonometry.

    Args:
        expression: The expression, such as "17 * 23", "(3 + 4)^2", "15% * 80" or "sqrt(2)". Angles in radians.
    """
    if len(expression) > LENGTH_MAX:
        raise ToolError("The expression is longer than {most} characters.", most=LENGTH_MAX)
    try:
        value = _Parser(_tokens(expression)).whole()
    except OverflowError:
        raise ToolError("A number in between is too large.") from None
    if isinstance(value, float):
        value = float(f"{value:.12g}")
        value = int(value) if value.is_integer() and abs(value) < EXACT_MAX else value
    exact: int | float | str = str(value) if isinstance(value, int) and abs(value) > EXACT_MAX else value
    return {"expression": expression.strip(), "result": exact}


def _tokens(expression: str) -> list[str]:
    text = expression.translate(_SIGNS).rstrip(" =＝?？")
    for words, sign in _WORDS:
        text = words.sub(sign, text)
    text = _GROUPED.sub(lambda found: found[0].replace(",", ""), text)
    tokens, position = [], 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ToolError("Can not read {text!r} in the expression.", text=text[position:].strip()[:20])
        tokens.append(found[0].strip())
        position = found.end()
    if not tokens:
        raise ToolError("The expression is empty.")
    return tokens


class _Parser:
    """Recursive descent, a method a level of binding: sum, product, sign, power, postfix, atom."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def whole(self) -> Number:
        value = self.sum()
        if self.peek():
            raise ToolError("Did not expect {peek!r} in the expression.", peek=self.peek())
        return value

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.peek()
        if token not in wanted:
            return ""
        self.at += 1
        return token

    def sum(self) -> Number:
        value = self.product()
        while sign := self.take("+", "-"):
            other = self.product()
            value = _guard(value + other if sign == "+" else value - other)
        return value

    def product(self) -> Number:
        value = self.sign()
        while True:
            if sign := self.take("*", "/", "//", "%"):
                value = _guard(_binary(sign, value, self.sign()))
            elif self.peek() == "(" or self.peek()[:1].isalpha() or self.peek() == "√":
                value = _guard(_binary("*", value, self.sign()))  # 2(3+4), 2pi
            else:
                return value

    def sign(self) -> Number:
        signs = 0
        while sign := self.take("-", "+"):
            signs += sign == "-"
        value = self.power()
        return -value if signs % 2 else value

    def power(self) -> Number:
        base = self.postfix()
        if not self.take("^", "**"):
            return base
        self.deeper()
        exponent = self.sign()
        self.depth -= 1
        return _guard(_power(base, exponent))

    def postfix(self) -> Number:
        value = self.atom()
        while True:
            if self.take("!"):
                value = _factorial(value)
            elif self.peek() == "%" and not self.operand_follows():
                self.at += 1
                value = value / 100
            else:
                return value

    def operand_follows(self) -> bool:
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ""
        return bool(re.match(r"[\w.(√]", after))

    def atom(self) -> Number:
        token = self.peek()
        self.at += 1
        if token == "(":
            return self.bracketed()
        if token == "√":
            return _call("sqrt", [self.atom()])
        if token[:1].isdigit() or token[:1] == ".":
            return _literal(token)
        if token.lower() in _CONSTANTS:
            return _CONSTANTS[token.lower()]
        if token[:1].isalpha():
            return self.call(token)
        raise ToolError(f"A number was expected {f'before {token!r}' if token else 'at the end of the expression'}.")

    def bracketed(self) -> Number:
        self.deeper()
        value = self.sum()
        self.close()
        return value

    def call(self, name: str) -> Number:
        if name.lower() not in _FUNCTIONS:
            raise ToolError(
                "{name!r} is not known here. Functions: {functions}.", name=name[:20], functions=", ".join(_FUNCTIONS)
            )
        if not self.take("("):
            raise ToolError("{name} needs brackets: {name}(...).", name=name)
        self.deeper()
        arguments = [self.sum()]
        while self.take(","):
            arguments.append(self.sum())
        self.close()
        return _call(name.lower(), arguments)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise ToolError("The expression is nested deeper than {most} levels.", most=DEPTH_MAX)

    def close(self) -> None:
        self.depth -= 1
        if not self.take(")"):
            raise ToolError("A closing bracket is missing.")


def _literal(token: str) -> Number:
    return _guard(int(token) if token.isdigit() else float(token))


def _binary(sign: str, left: Number, right: Number) -> Number:
    if sign != "*" and right == 0:
        raise ToolError("Division by zero.")
    match sign:
        case "*":
            return left * right
        case "//":
            return left // right
        case "%":
            return left % right
        case _:
            whole = isinstance(left, int) and isinstance(right, int) and left % right == 0
            return left // right if whole else left / right


def _power(base: Number, exponent: Number) -> Number:
    if base == 0 and exponent < 0:
        raise ToolError("Division by zero.")
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if abs(base) > 1 and base.bit_length() * exponent > BITS_MAX:
            raise ToolError("The power is too large.")
        whole: int = base**exponent
        return whole
    if base < 0 and not float(exponent).is_integer():
        raise ToolError("A root of a negative number is not a real number.")
    value: float = float(base) ** float(exponent)
    return value


def _factorial(value: Number) -> int:
    number = _whole(value)
    if not 0 <= number <= FACTORIAL_MAX:
        raise ToolError("A factorial is known here from 0 to {most}.", most=FACTORIAL_MAX)
    return math.factorial(number)


def _whole(value: Number) -> int:
    if value != int(value):
        raise ToolError("A whole number was expected.")
    return int(value)


def _call(name: str, arguments: list[Number]) -> Number:
    count, function = _FUNCTIONS[name]
    if count and len(arguments) != count:
        raise ToolError(
            "{name} takes {count} argument{value}, {arguments_count} came.",
            name=name,
            count=count,
            value="s" * (count > 1),
            arguments_count=len(arguments),
        )
    try:
        return _guard(function(*arguments))
    except ValueError:
        raise ToolError("{name} has no value there.", name=name) from None


def _guard(value: Number) -> Number:
    if isinstance(value, int):
        if value.bit_length() > BITS_MAX:
            raise ToolError("The result is too large.")
    elif not math.isfinite(value):
        raise ToolError("The result is too large.")
    return value


_CONSTANTS: dict[str, float] = {"pi": math.pi, "π": math.pi, "e": math.e, "tau": math.tau}
_FUNCTIONS: dict[str, tuple[int, Callable[..., Number]]] = {
    "sqrt": (1, math.sqrt),
    "cbrt": (1, math.cbrt),
    "abs": (1, abs),
    "exp": (1, math.exp),
    "ln": (1, math.log),
    "log": (1, math.log10),
    "log2": (1, math.log2),
    "log10": (1, math.log10),
    "sin": (1, math.sin),
    "cos": (1, math.cos),
    "tan": (1, math.tan),
    "asin": (1, math.asin),
    "acos": (1, math.acos),
    "atan": (1, math.atan),
    "radians": (1, math.radians),
    "degrees": (1, math.degrees),
    "floor": (1, math.floor),
    "ceil": (1, math.ceil),
    "round": (1, round),
    "factorial": (1, _factorial),
    "gcd": (2, lambda a, b: math.gcd(_whole(a), _whole(b))),
    "lcm": (2, lambda a, b: math.lcm(_whole(a), _whole(b))),
    "min": (0, lambda *numbers: min(numbers)),
    "max": (0, lambda *numbers: max(numbers)),
}
"""Name: how many arguments (0: at least one), and what does it."""
