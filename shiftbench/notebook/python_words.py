"""Error messages for the Python API, in which names of command-line options are replaced by those of arguments."""

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import ParamSpec, TypeVar

from shiftbench.validation.report import InvalidInput

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")
_MAPS = re.compile(r"--label-map (?:'[^']*'|\S+=\S+)(?: --label-map (?:'[^']*'|\S+=\S+))*")
_ROLE, _SETTING = re.compile(r"--columns (\w+)="), re.compile(r"--model-arg (\w+)=([\w.]+)")
_KIND = re.compile(r"(?:--columns )?\b(labels|tags|answers|texts)=NAME")
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")
_ARGUMENTS = {"model": "served_model", "model-arg": "settings", "train-file": "train"}
"""Arguments whose name differs from the option's."""


def python_words(text: str) -> str:
    """Replace command-line options in a text by Python arguments.

    >>> python_words("map them: --label-map 'NEG=?' --label-map POS=good")
    "map them: label_map={'NEG': '?', 'POS': 'good'}"
    >>> python_words("give --columns domain=NAME, or --trained-on; use --model-arg max_length=64")
    "give domain=NAME, or trained_on; use settings={'max_length': 64}"
    >>> python_words("give --columns texts=NAME")
    "give label=NAME, kind='texts'"
    """
    text = _KIND.sub(r"label=NAME, kind='\1'", _MAPS.sub(_as_dict, text))
    text = _SETTING.sub(lambda match: f"settings={{'{match[1]}': {match[2]}}}", _ROLE.sub(r"\1=", text))
    return _OPTION.sub(lambda match: _ARGUMENTS.get(match[1], match[1].replace("-", "_")), text)


def _as_dict(match: re.Match[str]) -> str:
    pairs = [word.rpartition("=") for word in shlex.split(match[0]) if word != "--label-map"]
    return f"label_map={ {name: label for name, _, label in pairs}!r}"


def in_python_words(function: Callable[_Asked, _Answer]) -> Callable[_Asked, _Answer]:
    """Wrap an API function so that its error messages name arguments instead of options."""

    @wraps(function)
    def ask(*args: _Asked.args, **kwargs: _Asked.kwargs) -> _Answer:
        try:
            return function(*args, **kwargs)
        except InvalidInput as error:
            error.problems[:] = [
                replace(
                    each,
                    what=python_words(each.what),
                    file=python_words(each.file),
                    found=python_words(each.found),
                    cure=python_words(each.cure),
                )
                for each in error.problems
            ]
            # The exception's text was built from the original problems.
            error.args = ("\n".join(map(str, error.problems)),)
            raise

    return ask
