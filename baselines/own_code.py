"""User code: a method or program in a file, in a module, or in an installed package.

``my_file.py:Name`` is a name in a file, ``my_package.module:Name`` a name in a module that is installed or in the
working directory, and a single word an entry point of an installed package, in one of the groups below. Files are named
only by the person who types the command or writes the grid: nothing is discovered, and nothing named in a record is
loaded.
"""

import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import fields
from functools import wraps
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from shiftbench.builders.checksums import file_sha256
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, first_line

METHODS_GROUP, PROGRAMS_GROUP = "shiftbench.methods", "shiftbench.programs"
"""Entry point groups, for packages that provide methods or programs."""
_PREFIX = "own_code_"
"""Prefix of the names of modules loaded from files, so that a file ``torch.py`` does not replace the package."""
_LOADED: dict[str, ModuleType] = {}
_RUNNING: ContextVar[dict[str, str]] = ContextVar("files of the program that is running", default={})  # noqa: B039
_FORM = {METHODS_GROUP: "FILE.py:CLASS", PROGRAMS_GROUP: "FILE.py"}


def is_own(name: str, group: str) -> bool:
    """Return whether a name is user code: a file, a name in a module, or an entry point."""
    return ":" in name or name.endswith(".py") or name in _entry_points(group)


def load_own(name: str, group: str, option: str, base: type | None = None, hooks: Sequence[str] = ()) -> Any:
    """Load a class or function by name.

    Args:
        name: as typed, such as ``my_losses.py:Penalty``.
        base: required base class; None requires a function.
        hooks: methods, at least one of which the class must override with the same arguments.
    Raises: InvalidInput if the file is missing or cannot be imported, the name is missing, or it is not such an object.
    """
    place, attribute = _place_of(name, group, option)
    found = vars(_imported(place, option)).get(attribute)
    if base is None:
        if not inspect.isfunction(found):
            raise _no_such(name, place, attribute, option, "function")
        return found
    if not (isinstance(found, type) and issubclass(found, base) and found is not base):
        raise _no_such(name, place, attribute, option, base.__name__)
    _check_hooks(found, base, hooks, f"{option} {name}")
    return found


def own_files(name: str, group: str, option: str) -> dict[str, str]:
    """Hash the user code that a name refers to.

    Returns: SHA-256 by relative path of the file and of the files below its folder that it imports; for a module, by
        module name, of all imported modules of its package.
    """
    return _files_of(_imported(_place_of(name, group, option)[0], option))


def program_files() -> dict[str, str]:
    """Return ``own_files`` of the running user program; empty for built-in programs."""
    return _RUNNING.get()


def _files_of(module: ModuleType) -> dict[str, str]:
    own = Path(str(module.__file__)).resolve()
    if module.__name__.startswith(_PREFIX):
        return {path.relative_to(own.parent).as_posix(): file_sha256(path) for path in _loaded_below(own.parent)}
    package = module.__name__.partition(".")[0]
    return {
        name: file_sha256(Path(str(each.__file__)))
        for name, each in sorted(sys.modules.items())
        if name.partition(".")[0] == package and getattr(each, "__file__", None)
    }


def own_program(name: str, command_of: Callable[[Any], Any]) -> Any:
    """Load a program, and turn it into a command.

    Args:
        name: as typed, such as ``my_program.py``.
        command_of: builds the command from the program's function.
    Raises: InvalidInput as ``load_own``; also if the function cannot become a command, or lacks options that ``train``
        and ``grid`` pass to every program.
    """
    where = f"PROGRAM {name}"
    try:
        command = command_of(_as_running(name, load_own(name, PROGRAMS_GROUP, "PROGRAM")))
    except (AssertionError, RuntimeError, TypeError) as error:  # typer's errors for unsupported parameters
        cure = "add RunOptions with @with_options"
        raise InvalidInput(Problem("this function is not a command", where, first_line(error), cure)) from error
    options = {word for param in command.params for word in param.opts}
    lacking = [word for word in ("--data", "--out", "--source", "--seed") if word not in options]
    if lacking:
        what, cure = "this program lacks the common options", "add RunOptions with @with_options"
        raise InvalidInput(Problem(what, where, ", ".join(lacking), cure))
    return command


def _as_running(name: str, main: Callable[..., None]) -> Callable[..., None]:
    """Wrap a program's function, so that ``program_files`` returns its files while it runs."""

    @wraps(main)
    def run(*args: Any, **kwargs: Any) -> None:
        before = _RUNNING.set(own_files(name, PROGRAMS_GROUP, "PROGRAM"))
        try:
            main(*args, **kwargs)
        finally:
            _RUNNING.reset(before)

    return run


def _entry_points(group: str) -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=group)}


def _place_of(name: str, group: str, option: str) -> tuple[str, str]:
    """Split a name into its file or module, and the attribute in it."""
    if ":" not in name and not name.endswith(".py"):
        found = _entry_points(group)[name]
        return found.module, found.attr
    place, _, attribute = name.rpartition(":") if ":" in name else (name, "", "main")
    if not place or not attribute.isidentifier() or (group == METHODS_GROUP and name.endswith(".py")):
        raise InvalidInput(Problem("invalid code name", option, f"'{name}'", f"write {_FORM[group]}, or MODULE:NAME"))
    return place, attribute


def _imported(place: str, option: str) -> ModuleType:
    """Import a file or module once; a file can import other files in its folder."""
    place = str(Path(place).resolve()) if place.endswith(".py") else place
    if place not in _LOADED:
        _LOADED[place] = _import(place, option)
    return _LOADED[place]


def _import(place: str, option: str) -> ModuleType:
    is_file = place.endswith(".py")
    file = Path(place)
    if is_file and not file.is_file():
        others = [each.name for each in file.parent.glob("*.py")]
        cure = did_you_mean(file.name, others) if others else "pass the path of a .py file"
        raise InvalidInput(Problem("there is no such file", option, f"'{place}'", cure))
    folder = str(file.parent) if is_file else os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that it cannot shadow an installed package
    try:
        if not is_file:
            return import_module(place)
        digest = hashlib.sha256(place.encode()).hexdigest()[:8]
        spec = spec_from_file_location(f"{_PREFIX}{digest}_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[module.__name__] = module
        spec.loader.exec_module(module)
        return module
    except InvalidInput:
        raise
    except Exception as error:  # the user's code may raise anything
        where = _line_in(error, file) if is_file else ""
        found = f"{type(error).__name__}: {first_line(error)}{where}"
        raise InvalidInput(Problem("this code cannot be imported", f"{option} {place}", found, "correct it")) from error


def _line_in(error: Exception, file: Path) -> str:
    """Format the line number of an error's last traceback entry in a file; "" if the traceback has none."""
    if isinstance(error, SyntaxError):
        return f" (line {error.lineno})"
    lines, trace = [], error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == file:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" (line {lines[-1]})" if lines else ""


def _loaded_below(root: Path) -> list[Path]:
    """List the files of loaded modules in a folder, except those of the Python environment."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    # For some modules of torch, ``__file__`` is only a name.
    paths = [Path(file).resolve() for file in files if file and Path(file).is_absolute()]
    inside = Path(sys.prefix).resolve()
    package = Path(__file__).resolve().parents[1]
    return sorted(
        path for path in set(paths)
        if path.is_relative_to(root) and not path.is_relative_to(inside) and not path.is_relative_to(package)
        and "site-packages" not in path.parts
    )  # fmt: skip


def _no_such(name: str, place: str, attribute: str, option: str, kind: str) -> InvalidInput:
    module = _imported(place, option)
    names = [each for each, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    if attribute not in vars(module):
        listed = f"it defines {', '.join(map(repr, names))}" if names else "it defines no names"
        near = did_you_mean(attribute, names) if names else ""
        return InvalidInput(Problem("there is no such name", f"{option} {place}", f"'{attribute}'", near or listed))
    found = type(vars(module)[attribute]).__name__
    cure = "define a function" if kind == "function" else f"make the class inherit from {kind}"
    return InvalidInput(Problem(f"this is not a {kind}", f"{option} {name}", f"a {found}", cure))


def _check_hooks(own: type, base: type, hooks: Sequence[str], where: str) -> None:
    """Raise InvalidInput if a class overrides no hook, changes a hook's arguments, or has a non-numeric default."""
    changed = [name for name in hooks if getattr(own, name) is not getattr(base, name)]
    if not changed:
        names = [name for name in vars(own) if not name.startswith("_") and callable(getattr(own, name))]
        found = f"it defines {', '.join(map(repr, names))}" if names else "it defines no function"
        raise InvalidInput(Problem("this method overrides no hook", where, found, f"define one of {', '.join(hooks)}"))
    for name in changed:
        wanted, has = (list(inspect.signature(getattr(each, name)).parameters) for each in (base, own))
        if len(wanted) != len(has):
            found, cure = f"{name}({', '.join(has)})", f"define it as {name}({', '.join(wanted)})"
            raise InvalidInput(Problem("this function has unexpected parameters", where, found, cure))
    for each in fields(own):
        if not isinstance(each.default, int | float) or isinstance(each.default, bool):
            cure = "set a number as the default of each field: fields are the method's hyperparameters"
            raise InvalidInput(Problem("the default of this field is not a number", where, f"'{each.name}'", cure))
