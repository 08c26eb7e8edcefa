"""The small language in reference files: text with `{{expressions}}` in it.

An expression is made of integers, quoted text, names, calls of templates with named arguments
(`f(c='x')`), `+ - * // %`, parentheses, and `'%03d' % i` or `'%03d' | format(i)`. Nothing else is
understood, so nothing else can happen: no attribute, no index, no loop. Numbers stay below 2**63,
text below `LONGEST` characters, calls and parentheses within `DEEPEST` levels, and all the work of
one document within a `Budget`: every character that is made, and every token that is evaluated.

This module knows text and integers. It must not know what is made of them.
"""

from __future__ import annotations

import operator
import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from omnizarr.errors import MetadataError
from omnizarr.model.json import show

LONGEST = 8192
DEEPEST = 16
TOKEN = 24
"""The cost of one token of an expression; a character of text costs 1."""
_LARGEST = 1 << 63

Value = int | str

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+)|(?P<name>[^\W\d]\w*)"
    r"|(?P<text>'[^'\\]*'|\"[^\"\\]*\")|(?P<sign>//|[-+*%()=,|]))"
)
_END = ("end", "")
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
_FORMAT = re.compile(r"%(?:%|(?P<flags>[-0 +]*)(?P<width>\d{0,3})(?P<kind>[dsi]))")


@dataclass
class Budget:
    """How much work may still be done: characters that are made, and `TOKEN` for each token."""

    left: int = 1 << 20

    def spend(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise MetadataError(
                "its templates make more text, or evaluate more expressions, than is done for one"
                " reference document"
            )


def render(text: str, names: Mapping[str, Value], budget: Budget, depth: int = 0) -> str:
    """The text with every `{{expression}}` replaced by its value."""
    if "{{" not in text:
        budget.spend(len(text))
        return text
    if depth > DEEPEST:
        raise MetadataError(f"templates call each other more than {DEEPEST} levels deep")
    result: list[str] = []
    length = 0
    for literal, source in _pieces(text):
        budget.spend(len(literal))
        value = "" if source is None else str(_evaluate(source, names, budget, depth))
        budget.spend(len(value))
        result += (literal, value)
        length += len(literal) + len(value)
        if length > LONGEST:
            raise MetadataError(f"the template {show(text)} makes more than {LONGEST} characters")
    return "".join(result)


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Each literal piece of a text and the expression after it; None after the last one."""
    position = 0
    while (begin := text.find("{{", position)) >= 0:
        end = text.find("}}", begin)
        if end < 0:
            raise MetadataError(f"'{{{{' without '}}}}' in {show(text)}")
        yield text[position:begin], text[begin + 2 : end]
        position = end + 2
    yield text[position:], None


def least_cost(text: str) -> int:
    """What `render` spends on a text at the least, whatever its names mean."""
    return sum(
        len(literal) + (0 if source is None else TOKEN * len(_tokens(source)))
        for literal, source in _pieces(text)
    )


def integer(value: object, names: Mapping[str, Value], budget: Budget) -> int:
    """A number that a file may also give as a template."""
    if isinstance(value, str):
        text = render(value, names, budget).strip()
        if re.fullmatch(r"\d{1,19}", text) is None:
            raise MetadataError(f"expected a number from {show(value)}, found {show(text)}")
        value = int(text)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LARGEST:
        raise MetadataError(f"expected a number of bytes, found {show(value)}")
    return value


def _evaluate(source: str, names: Mapping[str, Value], budget: Budget, depth: int) -> Value:
    plain = names.get(source.strip())
    if isinstance(plain, int) or (plain is not None and "{{" not in plain):
        budget.spend(TOKEN)
        return plain  # most expressions are a name
    try:
        tokens = _tokens(source)
        budget.spend(TOKEN * len(tokens))
        parser = _Parser((*tokens, _END), names, budget, depth)
        value = parser.expression(0)
        if parser.next() is not _END:
            raise MetadataError(f"{show(tokens[parser.position - 1][1])} is not expected there")
        return value
    except MetadataError as error:
        raise error.at(f"in {{{{{source[:200]}}}}}") from error


@lru_cache(maxsize=256)
def _tokens(source: str) -> tuple[tuple[str, str], ...]:
    if len(source) > LONGEST:
        raise MetadataError(f"an expression of {len(source)} characters; {LONGEST} are the most")
    tokens: list[tuple[str, str]] = []
    position = 0
    end = len(source.rstrip())
    while position < end:
        match = _TOKEN.match(source, position)
        if match is None or match.lastgroup is None:
            raise MetadataError(
                f"{show(source[position:][:20])} is not understood: expressions are made of"
                " integers, text, names, calls, + - * // % and parentheses"
            )
        tokens.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return tuple(tokens)


@dataclass
class _Parser:
    """Evaluates while it reads; `depth` counts templates inside templates. `_END` is the last
    token."""

    tokens: tuple[tuple[str, str], ...]
    names: Mapping[str, Value]
    budget: Budget
    depth: int
    position: int = 0

    def next(self) -> tuple[str, str]:
        self.position += 1
        return self.tokens[self.position - 1]

    def take(self, *signs: str) -> str:
        """Pass over the next token if it is one of these signs, and return it; else ""."""
        kind, text = self.tokens[self.position]
        if kind != "sign" or text not in signs:
            return ""
        self.position += 1
        return text

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise MetadataError(f"expected {sign!r}, found {_shown(self.tokens[self.position])}")

    def expression(self, level: int) -> Value:
        return _bounded(self._chain(level, ("+", "-"), self.product))

    def product(self, level: int) -> Value:
        return self._chain(level, ("*", "//", "%"), self.filtered)

    def _chain(self, level: int, signs: Sequence[str], operand: Callable[[int], Value]) -> Value:
        """Operands with these signs between them, from left to right."""
        value = operand(level)
        while sign := self.take(*signs):
            value = _bounded(_calculated(value, sign, operand(level)))
        return value

    def filtered(self, level: int) -> Value:
        value = self.atom(level)
        while self.take("|"):
            if self.next() != ("name", "format"):
                raise MetadataError("the only filter that is known is format")
            self.need("(")
            arguments: list[Value] = []
            while not self.take(")"):
                if arguments:
                    self.need(",")
                arguments.append(self.expression(level + 1))
            value = _formatted(value, arguments)
        return value

    def atom(self, level: int) -> Value:
        if level > DEEPEST:
            raise MetadataError(f"signs and parentheses more than {DEEPEST} levels deep")
        if self.take("-"):
            return -_number(self.atom(level + 1))
        if self.take("("):
            value = self.expression(level + 1)
            self.need(")")
            return value
        token = kind, text = self.next()
        if kind == "number" and len(text) < 20:
            return int(text)
        if kind == "text":
            return text[1:-1]
        if kind != "name":
            raise MetadataError(f"expected a value, found {_shown(token)}")
        if text not in self.names:
            raise MetadataError(f"no template or dimension has the name {show(text)}")
        value = self.names[text]
        known: Mapping[str, Value] = self.names
        if self.take("("):
            known = ChainMap(self.named_arguments(level), self.names)  # type: ignore[arg-type]
        if isinstance(value, int):
            return value
        return render(value, known, self.budget, self.depth + 1)

    def named_arguments(self, level: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while not self.take(")"):
            if found:
                self.need(",")
            kind, name = self.next()
            if kind != "name":
                raise MetadataError("a template is called with named arguments, f(c='x')")
            self.need("=")
            found[name] = self.expression(level + 1)
        return found


def _shown(token: tuple[str, str]) -> str:
    return "the end" if token is _END else show(token[1])


def _number(value: Value) -> int:
    if isinstance(value, str):
        raise MetadataError(f"expected a number, found the text {show(value)}")
    return value


def _bounded(value: Value) -> Value:
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise MetadataError(f"text of {len(value)} characters; {LONGEST} are the most")
    elif not -_LARGEST < value < _LARGEST:
        raise MetadataError("a number beyond 2**63")
    return value


def _calculated(first: Value, sign: str, second: Value) -> Value:
    if isinstance(first, str):
        if sign == "%":
            return _formatted(first, [second])
        if sign == "+" and isinstance(second, str):
            return first + second
    left, right = _number(first), _number(second)
    if sign in ("//", "%") and right == 0:
        raise MetadataError("division by zero")
    return _OPERATORS[sign](left, right)


def _formatted(pattern: Value, arguments: list[Value]) -> str:
    """`%d`, `%s` and `%i` with flags and a width, as Python has them."""
    if not isinstance(pattern, str):
        raise MetadataError(f"expected text to format, found {pattern}")
    rest = iter(arguments)

    def replace(match: re.Match[str]) -> str:
        if match["kind"] is None:
            return "%"
        value = next(rest, None)
        if value is None:
            raise MetadataError(f"{show(pattern)} needs more values than {len(arguments)}")
        given = value if match["kind"] == "s" else _number(value)
        return match[0] % given

    result = _FORMAT.sub(replace, pattern)
    if next(rest, None) is not None:
        raise MetadataError(f"{show(pattern)} needs fewer values than {len(arguments)}")
    return result
