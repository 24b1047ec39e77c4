"""Safe reading of untrusted YAML or JSON text, restricted to JSON's data model.

A few hundred bytes of YAML can expand to gigabytes (aliases, merged mappings), run for minutes (numbers with many
digits) or refer to programs (tags). Allowed are mappings, lists, texts, numbers, true, false and null; dates and
base-60 numbers are read as texts. Aliases and tags are refused.
"""

import json
import re
from typing import Any, ClassVar, NoReturn

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from shiftbench.validation.json_text import refuse_repeated_keys
from shiftbench.validation.report import InvalidInput, Problem

MAX_BYTES = 64 * 1024
MAX_NESTING = 20
MAX_NODES = 5_000
"""Maximum number of mappings, lists, keys and values."""
MAX_DIGITS = 40
"""Maximum characters of a number, enough for any count or cost."""

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# Each pattern is a subset of PyYAML's, so that its writer quotes texts that match it.


def parse_mapping(text: str, thing: str, file: str) -> dict[str, Any]:
    """Parse the text of a JSON object or of a YAML mapping.

    Args:
        text: the untrusted text.
        thing: what it should be, used in problems, such as ``card``.
        file: the file's name, used in problems.
    Returns: its content with text keys and JSON values.
    Raises: InvalidInput with line and column if the text is neither JSON nor YAML, is too large or nested too deeply,
        repeats a key, or contains an alias, a tag, half a surrogate pair or a number with too many digits.
    """
    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_BYTES:
        cure = f"the limit is {MAX_BYTES // 1024} KiB"
        raise InvalidInput(Problem(f"the {thing} is too large", file, f"{size:,} bytes", cure))
    try:
        content = _parse_json(text)
    except (ValueError, RecursionError):
        # Most JSON is valid YAML, whose reader reports the line of a fault.
        content = _parse_yaml(text, thing, file)
    if not isinstance(content, dict):
        cure = "start with 'name: ...'"
        raise InvalidInput(
            Problem(f"a {thing} must be a mapping of keys to values", file, type(content).__name__, cure)
        )
    return content


def _parse_json(text: str) -> Any:
    content = _JSON.decode(text.removeprefix("\ufeff"))
    _check_size(content, 1)
    return content


def _check_size(content: Any, nesting: int) -> int:
    """Count the nodes of parsed JSON; ValueError if they exceed the limits that apply to YAML."""
    if nesting > MAX_NESTING:
        raise ValueError("too deep")
    if isinstance(content, str):
        content.encode()  # raises UnicodeEncodeError, a ValueError, for half a surrogate pair
    n = 1
    children = [*content, *content.values()] if isinstance(content, dict) else content
    for child in children if isinstance(children, list) else ():
        n += _check_size(child, nesting + 1)
    if n > MAX_NODES:
        raise ValueError("too many nodes")
    return n


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _short_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError("too many digits")
    return int(digits)


_JSON = json.JSONDecoder(
    object_pairs_hook=refuse_repeated_keys, parse_constant=_refuse_constant, parse_int=_short_integer
)


class _Refused(yaml.MarkedYAMLError):
    """Raised for valid YAML that is not allowed in untrusted texts."""


class _Resolver(BaseResolver):
    """A resolver without implicit types; ``_scalar`` determines the type of a scalar."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]


class _Loader(Reader, Scanner, Parser, Composer, _Resolver):
    """A loader that composes the nodes of one document and stops at the first that exceeds a limit or is refused."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        _Resolver.__init__(self)
        self.nesting = self.nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        mark = event.start_mark
        self.nesting += 1
        self.nodes += 1
        if isinstance(event, yaml.AliasEvent):
            raise _Refused(None, None, "an alias (*), which is not allowed here", mark)
        if event.tag is not None:
            raise _Refused(None, None, "a tag (!), which is not allowed here", mark)
        if self.nesting > MAX_NESTING:
            raise _Refused(None, None, "values nested too deeply", mark)
        if self.nodes > MAX_NODES:
            raise _Refused(None, None, f"more than {MAX_NODES:,} keys and values", mark)
        node = super().compose_node(parent, index)
        self.nesting -= 1
        return node


def _parse_yaml(text: str, thing: str, file: str) -> Any:
    loader = None
    try:
        loader = _Loader(text)
        return _content(loader.get_single_node())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise InvalidInput(
            _invalid_yaml(thing, file, error.problem, (mark.line, mark.column) if mark else None)
        ) from error
    except ReaderError as error:
        before = text[: error.position]
        place = before.count("\n"), len(before) - before.rfind("\n") - 1
        raise InvalidInput(_invalid_yaml(thing, file, "an invisible character", place)) from error
    except (ValueError, OverflowError) as error:
        # PyYAML does not check the range of escapes such as "\UFFFFFFFF", nor the digits of a version.
        reached = (loader.line, loader.column) if loader else None
        raise InvalidInput(_invalid_yaml(thing, file, "an invalid character or number", reached)) from error


def _content(node: Any) -> Any:
    if node is None:
        return None
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [_content(child) for child in node.value]
    content: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _Refused(None, None, "a key that is not text", key.start_mark)
        name = _scalar_text(key)
        if name in content:
            raise _Refused(None, None, "a duplicate key", key.start_mark)
        content[name] = _content(value)
    return content


def _scalar(node: Any) -> Any:
    text = _scalar_text(node)
    if node.style is not None or not _is_special(text):
        return text
    if len(text) > MAX_DIGITS:
        raise _Refused(None, None, f"a number of more than {MAX_DIGITS} digits", node.start_mark)
    if _NULL.fullmatch(text):
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _NO_NUMBER.fullmatch(text):
        return float(text.replace(".", ""))
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(text):
        return int(digits, 16 if digits.startswith("0x") else 10)
    return float(digits)


def _is_special(text: str) -> bool:
    return text in _BOOLEANS or any(form.fullmatch(text) for form in (_NULL, _INTEGER, _FLOAT, _NO_NUMBER))


def _scalar_text(node: Any) -> str:
    """Return a scalar's text with surrogate pairs joined (JSON escapes characters beyond U+FFFF as pairs)."""
    try:
        return str(node.value).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise _Refused(None, None, "half of a surrogate pair, which is not valid text", node.start_mark) from error


def _invalid_yaml(thing: str, file: str, found: str | None, place: tuple[int, int] | None) -> Problem:
    # The parser's message may quote the untrusted text, so it is truncated.
    where = f", line {place[0] + 1}, column {place[1] + 1}" if place else ""
    found = " ".join((found or "unexpected content").split())[:120].removeprefix("found ")
    what = f"the {thing} is not valid YAML or JSON"
    return Problem(what, file, f"{found}{where}", "check quotes, colons and brackets")
