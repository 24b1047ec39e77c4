"""Skops files that would write, read or run something: written by hand, as no library would write them."""

import json
import operator
import zipfile
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from skops import io

Node = dict[str, Any]


def node(loader: str, name: str, **more: Any) -> Node:
    """Build a node of a dotted name."""
    module, _, last = name.rpartition(".")
    return {"__class__": last, "__module__": module, "__loader__": loader, **more}


def value(content: Any) -> Node:
    """Build the node of a number or a text."""
    return node("JsonNode", "builtins.str", content=json.dumps(content), is_json=True)


def items(*content: Node, loader: str = "TupleNode") -> Node:
    """Build the node of a tuple, or a list."""
    return node(loader, "builtins.list" if loader == "ListNode" else "builtins.tuple", content=list(content))


def mapping(**content: Node) -> Node:
    """Build the node of a dict."""
    types = [node("TypeNode", "builtins.str") for _ in content]
    return node("DictNode", "builtins.dict", key_types=items(*types, loader="ListNode"), content=content)


def save(schema: Node, *, members: dict[str, bytes] | None = None, protocol: Any = 2) -> bytes:
    """Write a file of a schema."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("schema.json", json.dumps({**schema, "protocol": protocol, "_skops_version": "0.16"}))
        for name, content in (members or {}).items():
            archive.writestr(name, content)
    return out.getvalue()


def read(content: bytes) -> tuple[Node, dict[str, bytes]]:
    """Read a file's schema and its other members."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != "schema.json"}
        return json.loads(archive.read("schema.json")), members


def find(schema: Any, name: str) -> Node | None:
    """Find the first node of a class."""
    if isinstance(schema, dict):
        if schema.get("__class__") == name:
            return schema
        schema = list(schema.values())
    if isinstance(schema, list):
        return next((found for each in schema if (found := find(each, name)) is not None), None)
    return None


def edit(content: bytes, change: Callable[[Node], None], **more: Any) -> bytes:
    """Write a file anew after a change of its schema."""
    schema, members = read(content)
    change(schema)
    return save(schema, members=members | more.pop("members", {}), **more)


def set_parameter(content: bytes, name: str, parameter: str, new: Node) -> bytes:
    """Set a parameter of the first object of a class."""

    def change(schema: Node) -> None:
        found = find(schema, name)
        assert found is not None
        attributes = found["content"]
        if parameter not in attributes["content"]:
            attributes["key_types"]["content"].append(node("TypeNode", "builtins.str"))
        attributes["content"][parameter] = deepcopy(new)

    return edit(content, change)


def _npy(array: Any, *, allow_pickle: bool = False) -> bytes:
    out = BytesIO()
    np.save(out, array, allow_pickle=allow_pickle)
    return out.getvalue()


def _reduce(name: str, *arguments: Any, loader: str = "ConstructorFromReduceNode") -> Node:
    return node(loader, name, content=items(*(value(each) for each in arguments)))


def hostile_files(honest: bytes, forest: bytes, sparse: bytes, canary: Path) -> dict[str, bytes]:
    """Build hostile files by name.

    Args:
        honest: a pipeline of a ``TfidfVectorizer`` and a ``LogisticRegression``.
        forest: one with trees.
        sparse: one with a sparse matrix in it.
        canary: a file that is there; each of these files would change it, read it, or make one beside it.
    """
    touch = f"touch {canary}.touched"

    def tfidf(parameter: str, new: Node) -> bytes:
        return set_parameter(honest, "TfidfVectorizer", parameter, new)

    def memo(schema: Node) -> None:
        # The first object of a number is the one that skops uses, wherever the number stands again.
        schema["content"]["__id__"] = 77
        vectorizer = find(schema, "TfidfVectorizer")
        assert vectorizer is not None
        attributes = vectorizer["content"]["content"]
        reordered = {"stop_words": {**value("filename"), "__id__": 5}, "input": {**value("content"), "__id__": 5}}
        vectorizer["content"]["content"] = reordered | {k: v for k, v in attributes.items() if k not in reordered}

    def tree(field: str, number: int) -> bytes:
        schema, members = read(forest)
        found = find(schema, "Tree")
        assert found is not None
        name = found["content"]["content"]["nodes"]["file"]
        nodes = np.load(BytesIO(members[name])).copy()
        nodes[field][0] = number
        return save(schema, members=members | {name: _npy(nodes)})

    def crooked() -> bytes:
        schema, members = read(sparse)
        name = next(name for name in members if name.endswith(".npz"))
        with np.load(BytesIO(members[name])) as arrays:
            parts = dict(arrays)
        parts["indices"] = parts["indices"] + 10**6
        out = BytesIO()
        np.savez(out, **parts)
        return save(schema, members=members | {name: out.getvalue()})

    def doubled() -> bytes:
        out = BytesIO(honest)
        with zipfile.ZipFile(out, "a") as archive:
            archive.writestr("schema.json", json.dumps({**command, "protocol": 2}))
        return out.getvalue()

    def first_array(content: bytes) -> bytes:
        schema, members = read(honest)
        name = next(name for name in members if name.endswith(".npy"))
        return save(schema, members=members | {name: content})

    command = _reduce("numpy.distutils.fcompiler.gnu.Popen", ["/bin/sh", "-c", touch])
    function = node("FunctionNode", "os.system")
    partly = node("PartialNode", "functools.partial", content={
        "func": function, "args": items(value(touch)), "kwds": mapping(), "namespace": value(None),
    })  # fmt: skip
    caller = node("OperatorFuncNode", "operator.methodcaller", attrs=items(value("system"), value(touch)))
    transformer = "sklearn.preprocessing._function_transformer.FunctionTransformer"
    deep: Any = value(1)
    for _ in range(300):
        deep = items(deep)
    nested = items(items(value("head"), command), loader="ListNode")
    header = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
    bomb = header + b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,), }".ljust(117) + b"\n"
    return {
        "popen through numpy": save(command),
        "popen": save(_reduce("subprocess.Popen", ["/bin/sh", "-c", touch])),
        "os through scikit-learn": save(_reduce("sklearn.utils._testing.os.system", touch)),
        "os.system by a re-export": save(node("FunctionNode", "joblib.disk.os.system")),
        "subprocess by scipy": save(_reduce("scipy._lib._testutils.subprocess.Popen", ["/bin/sh", "-c", touch])),
        "memmap": save(_reduce("numpy.memmap", str(canary), "uint8", "w+", 0, [4])),
        "memmap by module": save(_reduce("numpy._core.memmap.memmap", str(canary), "uint8", "w+")),
        "memmap as an array": save(
            node("NdArrayNode", "numpy.memmap", type="numpy", file="a.npy"),
            members={"a.npy": _npy(np.array(str(canary)))},
        ),
        "data source": save(_reduce("numpy.lib._datasource.DataSource", str(canary) + ".folder")),
        "npz file": save(_reduce("numpy.lib._npyio_impl.NpzFile", str(canary))),
        "netcdf": save(_reduce("scipy.io._netcdf.netcdf_file", str(canary), "w")),
        "partial": save(partly),
        "partial as an attribute": tfidf("tfidf_", partly),
        "method caller": save(caller),
        "bound method": save(node("MethodNode", "builtins.dict", content={"func": "update", "obj": mapping()})),
        "function transformer": save(
            node("ObjectNode", transformer, content=mapping(func=function, kw_args=mapping(command=value(touch))))
        ),
        "function transformer of a ufunc": save(
            node("ObjectNode", transformer, content=mapping(func=node("FunctionNode", "numpy.frompyfunc")))
        ),
        "nested in steps": set_parameter(honest, "Pipeline", "steps", nested),
        "nested in an array": tfidf(
            "x_", node("NdArrayNode", "numpy.ndarray", type="json", content=[command], shape=items(value(1)))
        ),
        "as the key of a dict": tfidf("x_", node(
            "DictNode", "builtins.dict", key_types=items(node("TypeNode", "posix.system"), loader="ListNode"),
            content={touch: value(1)},
        )),
        "eval as the key of a dict": tfidf("x_", node(
            "DictNode", "builtins.dict", key_types=items(node("TypeNode", "builtins.eval"), loader="ListNode"),
            content={f"__import__('os').system('{touch}')": value(1)},
        )),
        "a list that is a program": save(node("ListNode", "subprocess.Popen", content=[value("/bin/sh")])),
        "a dict of another class": save(node(
            "DictNode", "tempfile.TemporaryDirectory", key_types=items(loader="ListNode"), content={}
        )),
        "a loss of another class": save(node(
            "LossNode", "subprocess.Popen", content=mapping(),
            __reduce__={"args": items(value(["/bin/sh", "-c", touch]))},
        )),
        "a class of the working directory": save(node("ObjectNode", "conftest.Evil", content=mapping())),
        "wrong module": save(node("ObjectNode", "antigravity.LogisticRegression", content=mapping())),
        "texts are file names": tfidf("input", value("filename")),
        "texts are files": tfidf("input", value("file")),
        "texts are file names by an object's number": edit(honest, memo),
        "an encoding that is a module": tfidf("encoding", value("hex")),
        "tokenizer": tfidf("tokenizer", function),
        "analyzer": tfidf("analyzer", function),
        "preprocessor": tfidf("preprocessor", node("TypeNode", "builtins.open")),
        "a method that is replaced": tfidf("build_analyzer", function),
        "a method that is replaced by a type": tfidf("decode", node("TypeNode", "builtins.str")),
        "memory": set_parameter(honest, "Pipeline", "memory", value(str(canary) + ".cache")),
        "memory as an object": set_parameter(
            honest, "Pipeline", "memory",
            node("ObjectNode", "joblib.memory.Memory", content=mapping(location=value("x"))),
        ),
        "a function where nothing is loaded": set_parameter(honest, "LogisticRegression", "n_jobs", function),
        "an array of objects": first_array(_npy(np.array([print], dtype=object), allow_pickle=True)),
        "an array with a large header": first_array(bomb),
        "a header that is code": first_array(header + f"__import__('os').system('{touch}')".encode().ljust(118)),
        "a tree in a circle": tree("left_child", 0),
        "a tree outside": tree("right_child", 10**6),
        "a feature outside": tree("feature", 10**9),
        "a sparse matrix outside": crooked(),
        "two schemas": doubled(),
        "an old function": save(
            node("FunctionNode", "os.system", content={"module_path": "os", "function": "system"}), protocol=0
        ),
        "an old generator": save(
            node("RandomGeneratorNode", "numpy.random._generator.Generator", content={
                "bit_generator": {"bit_generator": "set_state"}
            }), protocol=0,
        ),
        "a later protocol": edit(honest, lambda schema: None, protocol=3),
        "no protocol": edit(honest, lambda schema: None, protocol=None),
        "too deep": save(deep),
        "deep json": save(node("JsonNode", "builtins.str", content="[" * 100_000)),
        "escape codes": save(node("ObjectNode", "\x1b[2J.Evil\u202e", content=mapping())),
        "no zip": b"no zip",
        "no schema": b"PK\x05\x06" + bytes(18),
    }  # fmt: skip


def saved_by_skops(canary: Path) -> dict[str, bytes]:
    """Build hostile files that skops itself writes."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    return {
        "a partial": io.dumps(make_pipeline(FunctionTransformer(partial(open, str(canary), "w")))),
        "an attribute getter": io.dumps(make_pipeline(FunctionTransformer(operator.attrgetter("__class__")))),
        "a function": io.dumps(make_pipeline(FunctionTransformer(np.save))),
    }


def bomb() -> bytes:
    """Build a file that is small packed and too large unpacked."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * (100 * 2**20))
    return out.getvalue()
