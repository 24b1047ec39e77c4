"""Check of a skops file against ``skops_list.toml``, before any module that it names is imported.

The library's own check reports unknown types, but it trusts parameter values (a vectorizer with ``input="filename"``
opens every text as a path) and imports the modules that a file names. Here the file's ``schema.json`` is read as text,
every type in it must be listed, and the file that is then loaded is rewritten from the checked parts: no unchecked
object is passed on.
"""

import json
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftbench.validation.json_text import refuse_repeated_keys
from shiftbench.validation.report import InvalidInput, Problem

SCHEMA = "schema.json"
MAX_SCHEMA = 512 * 2**20
"""Maximum bytes of the schema; a vocabulary of a million words takes 400 MB."""
MAX_BYTES = 4 * 2**30
"""Maximum bytes of the unpacked contents."""
MAX_RATIO, RATIO_FROM = 200, 64 * 2**20
"""Maximum compression ratio, for files of more than 64 MiB unpacked."""
MAX_MEMBERS = 100_000
MAX_DEPTH = 200
PROTOCOLS = range(3)
"""Supported protocols of skops; later ones may change the meaning of nodes."""

_SPARSE_ARRAYS = {"indices", "indptr", "offsets", "data", "shape", "format", "_is_array"}
_METHODS = {"predict", "predict_proba", "decision_function"}
_KINDS = "biufSU"
"""numpy's dtype kinds of numbers and texts, without objects."""

Node = dict[str, Any]


@dataclass(frozen=True)
class SkopsList:
    """The allowlist of ``skops_list.toml``.

    Attributes:
        nodes: types by the skops loader that builds them.
        left_out: types, by loader, that are allowed only in parts that are not loaded.
        searches: for each search class, the attribute that is loaded in its place.
        estimators: by type, the allowed values of each parameter.
    """

    nodes: Mapping[str, frozenset[str]]
    left_out: Mapping[str, frozenset[str]]
    searches: Mapping[str, str]
    estimators: Mapping[str, Mapping[str, tuple[str, ...]]]

    def has(self, loader: str, name: str, *, is_left_out: bool) -> bool:
        """Check whether a type is listed for a loader."""
        if name in self.nodes.get(loader, ()):
            return True
        if is_left_out and name in self.left_out.get(loader, ()):
            return True
        return loader == "ObjectNode" and (name in self.estimators or name in self.searches)


@cache
def read_list() -> SkopsList:
    """Read ``skops_list.toml``."""
    data = tomllib.loads(Path(__file__).with_name("skops_list.toml").read_text(encoding="utf-8"))
    nodes, left_out = (
        {loader: frozenset(names) for loader, names in data[part].items()} for part in ("nodes", "left_out")
    )
    estimators = {
        name: {parameter: tuple(values) for parameter, values in parameters.items()}
        for name, parameters in data["estimators"].items()
    }
    return SkopsList(nodes, left_out, data["searches"], estimators)


def check_skops(content: bytes, place: str) -> bytes:
    """Check a skops file, and rewrite it from the checked parts.

    Returns: a skops file with only listed types, no shared objects, and null for the parts that are not loaded.
    Raises: InvalidInput if it is not a skops file, is too large, or contains unlisted types or values.
    """
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            _check_sizes(archive)
            schema = json.loads(archive.read(SCHEMA), object_pairs_hook=refuse_repeated_keys)
            return _Check(archive).rewrite(schema)
    except _UnlistedError as error:
        cure = (
            "save a pipeline of the parts of scikit-learn that are listed in 'baselines/models/skops_list.toml'; if "
            "you made the file yourself, you can save a pickle and load it with --model-arg trust_pickle=yes"
        )
        raise InvalidInput(Problem(error.what, place, ", ".join(error.found), cure)) from error
    except Exception as error:  # a damaged file may raise anything, for example zlib.error or lzma.LZMAError
        raise InvalidInput(_damaged(place, error)) from error


class _UnlistedError(Exception):
    """The file contains a type or value that is not listed."""

    def __init__(self, what: str, found: list[str]) -> None:
        super().__init__(what)
        self.what, self.found = what, found


def _damaged(place: str, error: Exception) -> Problem:
    found = f"{type(error).__name__}: {_short_text(str(error))}" if str(error) else type(error).__name__
    return Problem("the skops file cannot be loaded", place, found, "save it again with skops.io.dump")


def _short_text(text: str) -> str:
    """Shorten a text of the file for a message, and escape control characters."""
    is_plain = text.isascii() and text.isprintable()
    return (text if is_plain else ascii(text))[:120]


def _check_sizes(archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    if len(members) > MAX_MEMBERS or len({member.filename for member in members}) < len(members):
        raise ValueError(f"{len(members):,} members (at most {MAX_MEMBERS:,}, with different names)")
    unpacked, packed = sum(each.file_size for each in members), sum(each.compress_size for each in members)
    if unpacked > MAX_BYTES or (unpacked > RATIO_FROM and unpacked > MAX_RATIO * packed):
        raise ValueError(f"{unpacked:,} bytes unpacked from {packed:,}, which is too large for a model")
    if archive.getinfo(SCHEMA).file_size > MAX_SCHEMA:
        raise ValueError(f"schema.json is larger than {MAX_SCHEMA:,} bytes")


@dataclass
class _Check:
    """The state of checking one file: the archive, and the members of the rewritten file by name."""

    archive: zipfile.ZipFile
    members: dict[str, bytes] = field(default_factory=dict)

    def rewrite(self, schema: Any) -> bytes:
        """Check the schema, and return the rewritten file."""
        unlisted = sorted({_short_text(name) for name in _unlisted_names(schema, 0, is_left_out=False)})
        if unlisted:
            raise _UnlistedError("the file has types or functions that are not on the trusted list", unlisted[:12])
        if type(schema["protocol"]) is not int or schema["protocol"] not in PROTOCOLS:
            raise ValueError(f"protocol {_short_text(repr(schema['protocol']))}, written by a later version of skops")
        root = self._node(schema) | {"protocol": schema["protocol"], "_skops_version": "0"}
        out = BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(SCHEMA, json.dumps(root))
            for name, content in self.members.items():
                archive.writestr(name, content)
        return out.getvalue()

    def _node(self, node: Node) -> Node:
        """Check a node of a listed type, and return the node to load."""
        loader, name = node["__loader__"], _type_name(node)
        known = read_list()
        if name in known.searches and loader == "ObjectNode":
            best = node["content"]["content"].get(known.searches[name])
            if best is None:
                raise ValueError("a search without its best estimator (refit=False)")
            return self._node(best)
        if not known.has(loader, name, is_left_out=False):
            return _json_node(None)  # a random state, or a node in a part that is not loaded
        return getattr(self, f"_{_BUILDERS[loader]}")(node)  # type: ignore[no-any-return]

    def _json(self, node: Node) -> Node:
        value = _json_value(node)
        if isinstance(value, list | dict):
            raise ValueError("a list or an object in a JsonNode")
        return _json_node(value)

    def _items(self, node: Node) -> Node:
        return _bare(node) | {"content": [self._node(item) for item in node["content"]]}

    def _dict(self, node: Node) -> Node:
        types = node["key_types"]
        if types["__loader__"] != "ListNode" or any(key["__loader__"] != "TypeNode" for key in types["content"]):
            raise ValueError("dict keys that are neither numbers nor strings")
        if len(types["content"]) != len(node["content"]):
            raise ValueError("a dict whose numbers of keys and key types differ")
        content = {key: self._node(value) for key, value in node["content"].items()}
        return _bare(node) | {"key_types": self._items(types), "content": content}

    def _type(self, node: Node) -> Node:
        return _bare(node)

    def _slice(self, node: Node) -> Node:
        content = {key: node["content"][key] for key in ("start", "stop", "step")}
        if any(isinstance(value, list | dict) for value in content.values()):
            raise ValueError("a slice whose bounds are lists")
        return _bare(node) | {"content": content}

    def _dtype(self, node: Node) -> Node:
        content = node["content"]
        if content["__loader__"] != "NdArrayNode" or content["type"] != "numpy":
            raise ValueError("a number type that is not an array dtype")
        return _bare(node) | {"content": self._array(content)}

    def _array(self, node: Node) -> Node:
        if node["type"] == "json":
            if _type_name(node) != "numpy.ndarray":
                raise ValueError("a list where a number is expected")
            shape = node["shape"]
            if shape["__loader__"] != "TupleNode" or any(
                type(_json_value(each)) is not int for each in shape["content"]
            ):
                raise ValueError("an array without a shape")
            items = [self._node(item) for item in node["content"]]
            return _bare(node) | {"type": "json", "content": items, "shape": self._items(shape)}
        if node["type"] != "numpy":
            raise ValueError(f"an array of type {_short_text(repr(node['type']))}")
        content = self._read(node["file"])
        array = _load_array(content, _KINDS)
        if _type_name(node) != "numpy.ndarray" and array.shape != ():
            raise ValueError("an array where a number is expected")
        return _bare(node) | {"type": "numpy", "file": self._keep(content, "npy")}

    def _sparse(self, node: Node) -> Node:
        content = self._read(node["file"])
        _check_sparse(content)
        return _bare(node) | {"type": "scipy", "file": self._keep(content, "npz")}

    def _loss(self, node: Node) -> Node:
        return _bare(node) | {
            "__reduce__": {"args": _plain_tuple(self._node(node["__reduce__"]["args"]))},
            "content": self._node(node["content"]),
        }

    def _tree(self, node: Node) -> Node:
        state = node["content"]
        if state["__loader__"] != "DictNode" or state["content"]["nodes"]["__loader__"] != "NdArrayNode":
            raise ValueError("a tree without nodes")
        arguments = node["__reduce__"]["args"]
        nodes = self._read(state["content"]["nodes"]["file"])
        _check_tree(_load_array(nodes, _KINDS + "V"), _json_value(arguments["content"][0]))
        content = {key: self._node(value) for key, value in state["content"].items() if key != "nodes"}
        array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}
        content["nodes"] = array | {"file": self._keep(nodes, "npy")}
        return _bare(node) | {
            "__reduce__": {"args": _plain_tuple(self._node(arguments))},
            "content": _bare(state) | {"key_types": _text_types(len(content)), "content": content},
        }

    def _object(self, node: Node) -> Node:
        """Check an object of a listed class: each parameter's value, and the names of its fitted attributes."""
        name, state = _type_name(node), node.get("content")
        if state is None:
            return _bare(node)
        parameters = read_list().estimators[name]
        if state["__loader__"] == "JsonNode" and _json_value(state) is None:
            return _bare(node) | {"content": _json_node(None)}
        if state["__loader__"] != "DictNode" or _type_name(state) != "builtins.dict":
            raise ValueError(f"the state of {name} is not a dict")
        if any(_type_name(key) != "builtins.str" for key in state["key_types"]["content"]):
            raise ValueError(f"the state of {name} has keys that are not attribute names")
        content = {}
        for key, value in state["content"].items():
            allowed = parameters.get(key)
            if allowed is None:
                if not (key.endswith("_") or key.startswith("_")) or key.startswith("__"):
                    raise _UnlistedError("a part of the model has an unknown attribute", [_short_type_name(name, key)])
                allowed = ("<parts>", "<text>")
            content[key] = _json_node(None) if "<left out>" in allowed else self._node(value)
            if not _is_allowed(content[key], allowed):
                said = ", ".join(allowed) or "nothing"
                found = f"{_short_type_name(name, key)} = {_value_short_text(value)}; allowed: {said}"
                raise _UnlistedError("a part of the model has a value that is not trusted", [found])
        state_node = _bare(state) | {"key_types": _text_types(len(content)), "content": content}
        return _bare(node) | {"content": state_node}

    def _read(self, name: Any) -> bytes:
        if not isinstance(name, str) or name == SCHEMA:
            raise ValueError("an array that is missing from the file")
        return self.archive.read(name)

    def _keep(self, content: bytes, ending: str) -> str:
        name = f"{len(self.members)}.{ending}"
        self.members[name] = content
        return name


_BUILDERS = {
    "JsonNode": "json", "ListNode": "items", "TupleNode": "items", "SetNode": "items", "DictNode": "dict",
    "TypeNode": "type", "SliceNode": "slice", "DTypeNode": "dtype", "NdArrayNode": "array",
    "SparseMatrixNode": "sparse", "LossNode": "loss", "TreeNode": "tree", "ObjectNode": "object",
}  # fmt: skip


def _unlisted_names(value: Any, depth: int, *, is_left_out: bool) -> Iterator[str]:
    """Find unlisted types and loaders anywhere in the schema, including parts that are not loaded."""
    if depth > MAX_DEPTH:
        raise ValueError(f"schema.json is nested deeper than {MAX_DEPTH}")
    if isinstance(value, list):
        for item in value:
            yield from _unlisted_names(item, depth + 1, is_left_out=is_left_out)
    if not isinstance(value, dict):
        return
    known, name = read_list(), None
    if "__loader__" in value or "__class__" in value or "__module__" in value:
        loader, name = value.get("__loader__"), _type_name(value)
        if (
            not isinstance(loader, str)
            or not known.has(loader, name, is_left_out=True)
            or (not is_left_out and loader != "RandomStateNode" and not known.has(loader, name, is_left_out=False))
        ):
            yield f"{name} ({loader})"
    parameters = known.estimators.get(name or "", {})
    is_state = value.get("__loader__") == "ObjectNode" and isinstance(value.get("content"), dict)
    for key, item in value.items():
        if is_state and key == "content" and name is not None:
            yield from _unlisted_state(item, depth, name, parameters, is_left_out=is_left_out)
        else:
            yield from _unlisted_names(item, depth + 1, is_left_out=is_left_out)


def _unlisted_state(
    state: Node, depth: int, name: str, parameters: Mapping[str, tuple[str, ...]], *, is_left_out: bool
) -> Iterator[str]:
    """Find unlisted types in the state of an object, some of whose attributes may not be loaded."""
    best = read_list().searches.get(name)
    yield from _unlisted_names({**state, "content": None}, depth + 1, is_left_out=is_left_out)
    content = state.get("content")
    for key, item in content.items() if isinstance(content, dict) else [("", content)]:
        skipped = "<left out>" in parameters.get(key, ()) or (best is not None and key != best)
        yield from _unlisted_names(item, depth + 2, is_left_out=is_left_out or skipped)


def _type_name(node: Node) -> str:
    module, name = node.get("__module__"), node.get("__class__")
    return f"{module}.{name}"


def _bare(node: Node) -> Node:
    """Return a node's type without its content, and without the id by which skops shares equal objects."""
    return {key: node[key] for key in ("__class__", "__module__", "__loader__")}


def _json_node(value: Any) -> Node:
    content = json.dumps(value)
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": content, "is_json": True}


def _text_types(n_keys: int) -> Node:
    """Build the node that lists the types of a dict's keys, which are all strings."""
    types = [{"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}] * n_keys
    return {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": types}


def _json_value(node: Node) -> Any:
    if node["__loader__"] != "JsonNode":
        raise ValueError("an object where a number or a string is expected")
    return json.loads(node["content"])


def _plain_tuple(node: Node) -> Node:
    if node["__loader__"] != "TupleNode":
        raise ValueError("arguments that are not a tuple")
    return node


def _is_allowed(node: Node, allowed: tuple[str, ...]) -> bool:  # noqa: PLR0911
    """Check whether a node, already checked itself, is an allowed value of a parameter."""
    loader = node["__loader__"]
    if loader == "JsonNode":
        value = _json_value(node)
        if isinstance(value, str):
            return value in allowed or "<text>" in allowed
        return value is None or "<number>" in allowed or "<parts>" in allowed or "<plain>" in allowed
    if loader == "TypeNode":
        return "<type>" in allowed
    if loader == "DTypeNode":
        return "<type>" in allowed or "<parts>" in allowed
    if "<methods>" in allowed:
        return loader == "ListNode" and all(_json_value(item) in _METHODS for item in node["content"])
    if loader == "NdArrayNode" and _type_name(node) != "numpy.ndarray" and "<number>" in allowed:
        return True
    if "<parts>" in allowed:
        return True
    return "<plain>" in allowed and loader != "SliceNode" and _is_plain(node)


def _is_plain(node: Node) -> bool:
    loader, content = node["__loader__"], node.get("content")
    if loader in ("ObjectNode", "TreeNode", "LossNode", "TypeNode"):
        return False
    items = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return all(_is_plain(item) for item in items if isinstance(item, dict))


def _short_type_name(name: str, key: str) -> str:
    return f"{name.rpartition('.')[2]}.{_short_text(key)}"


def _value_short_text(node: Node) -> str:
    if node.get("__loader__") == "JsonNode":
        return _short_text(str(node.get("content")))
    return _short_text(_type_name(node))


def _load_array(content: bytes, kinds: str) -> NDArray[Any]:
    """Read an array of numbers or texts; its size is limited by the bytes, whatever its header states."""
    file = BytesIO(content)
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"an array of unsupported format {version}")
    shape, _, dtype = readers[version](file)
    left = len(content) - file.tell()
    if dtype.hasobject or dtype.kind not in kinds or any(size < 0 for size in shape):
        raise ValueError(f"an array of unsupported type {dtype}")
    n_values = 1
    for size in shape:
        n_values *= size
    if n_values * dtype.itemsize != left or n_values > MAX_BYTES:
        raise ValueError("an array whose size differs from its header")
    file.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _check_sparse(content: bytes) -> None:
    """Check a sparse matrix in scipy's format, whose reader does not check that indices are in range."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        members = archive.infolist()
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) < len(names) or not set(names) <= _SPARSE_ARRAYS:
            raise ValueError("a sparse matrix with unexpected members")
        unpacked = sum(member.file_size for member in members)
        if unpacked > MAX_BYTES or (unpacked > RATIO_FROM and unpacked > MAX_RATIO * len(content)):
            raise ValueError(f"a sparse matrix of {unpacked:,} bytes unpacked from {len(content):,}")
        arrays = {name: _load_array(archive.read(member), _KINDS) for name, member in zip(names, members, strict=True)}
    form, shape = arrays["format"].item(), arrays["shape"]
    form = form.decode() if isinstance(form, bytes) else form
    if form not in ("csr", "csc", "dia") or shape.shape != (2,) or shape.dtype.kind != "i" or (shape < 0).any():
        raise ValueError(f"a sparse matrix of unsupported format {_short_text(str(form))}")
    if form == "dia":
        data, offsets = arrays["data"], arrays["offsets"]
        if data.ndim != 2 or offsets.shape != (len(data),) or offsets.dtype.kind != "i":
            raise ValueError("a sparse matrix without its diagonals")
        return
    major, minor = shape if form == "csr" else shape[::-1]
    indices, indptr = arrays["indices"], arrays["indptr"]
    if indices.dtype.kind != "i" or indptr.dtype.kind != "i" or indices.ndim != 1 or indptr.shape != (major + 1,):
        raise ValueError("a sparse matrix without its indices")
    inside = len(indices) == 0 or (indices.min() >= 0 and indices.max() < minor)
    in_order = indptr[0] == 0 and indptr[-1] <= len(indices) and (np.diff(indptr) >= 0).all()
    if not inside or not in_order or arrays["data"].shape != indices.shape:
        raise ValueError("a sparse matrix with indices out of bounds")


def _check_tree(nodes: NDArray[Any], n_features: Any) -> None:
    """Check that the nodes of a decision tree lead only to later nodes, and use only existing features."""
    if nodes.ndim != 1 or nodes.dtype.names is None or type(n_features) is not int:
        raise ValueError("a tree without nodes")
    left, right, feature = (nodes[name].astype(np.int64) for name in ("left_child", "right_child", "feature"))
    inner = left != -1
    place = np.arange(len(nodes))
    for child in (left, right):
        if ((child <= place) | (child >= len(nodes)))[inner].any():
            raise ValueError("a tree with invalid or cyclic child nodes")
    if ((feature < 0) | (feature >= n_features))[inner].any():
        raise ValueError("a tree with feature indices out of bounds")
