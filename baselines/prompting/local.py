"""A local language model, run by transformers: greedy decoding, in batches of similar length."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from shiftbench.baselines.prompting.models import Ending, KeepAnswer, Message, ModelAnswer, Request
from shiftbench.baselines.prompting.scored_labels import LabelScores, have_prefixes
from shiftbench.baselines.prompting.wire import label_continuations, plain_text
from shiftbench.baselines.training.options import Precision
from shiftbench.builders.cache import cache_key
from shiftbench.builders.checksums import file_state, folder_state
from shiftbench.validation.command_line import require
from shiftbench.validation.report import InvalidInput, Problem, first_line

BATCH = 8
GGUF_SUFFIX = ".gguf"
"""llama.cpp's format: one file with quantised weights, tokenizer and chat template."""


class LocalModel:
    """A causal language model from a folder, a GGUF file or the Hub, on a GPU if there is one.

    It is loaded on first use. If it has a chat template, prompts use it; otherwise they are plain paragraphs, and
    answers end at an empty line. Prompts that leave no room for the answer are skipped. An answer may depend on the
    others in its batch through rounding, if two tokens are nearly tied; the same requests always give the same batches.

    Args:
        name: folder, GGUF file, or id on the Hub. Quantised weights are dequantised, and compute in the usual
            precision.
        precision: number format of weights and computation; by default single precision on a CPU, and on a GPU the
            format stated in the model's files. Label scoring always uses a last layer in single precision.
    """

    def __init__(
        self, name: str, *, batch: int = BATCH, scores_labels: bool = False, precision: Precision = Precision.AUTO
    ) -> None:
        require("peft", "train")
        self._name, self._batch, self._scores_labels, self._precision = name, batch, scores_labels, precision
        self._gguf = find_gguf(name)
        where = self._gguf or Path(name)
        if where.exists():
            self._files = files_key(where)
        else:
            from transformers import AutoConfig

            self._files = f"{name}@{self._load(AutoConfig)._commit_hash}"

    def identity(self, request: Request) -> Mapping[str, Any]:
        """Return what the response depends on: the model's files, device, precision, messages and parameters."""
        ran: dict[str, Any] = {"files": self._files, "device": self._device, "precision": self._precision}
        if self._scores_labels and request.labels:
            return {**ran, "messages": list(request.messages), "labels": list(request.labels)}
        return {**ran, "messages": list(request.messages), "max_tokens": request.max_tokens}

    def answer(self, requests: Sequence[Request], keep: KeepAnswer) -> None:
        """Answer all requests, long prompts first."""
        if self._scores_labels:
            self._score([(place, request) for place, request in enumerate(requests) if request.labels], keep)
            free = [place for place, request in enumerate(requests) if not request.labels]
            if free:
                self._generate_answers(
                    [requests[place] for place in free], lambda place, answer: keep(free[place], answer)
                )
        else:
            self._generate_answers(requests, keep)

    def _score(self, requests: Sequence[tuple[int, Request]], keep: KeepAnswer) -> None:
        """Score the labels of requests, grouped by label set, long prompts first."""
        from shiftbench.baselines.prompting.label_scores import score_labels

        context_length = getattr(self._model.config, "max_position_embeddings", None) or 10**9
        prompts = {place: self._tokens(request.messages, ends_open=request.ends_open) for place, request in requests}
        for names in dict.fromkeys(request.labels for _, request in requests):
            # After a text ending in "Answer:" a label starts with a space; in a chat it is the whole message.
            texts = list(names) if self._is_chat else label_continuations(names)
            labels = self._tokenizer(texts, add_special_tokens=False)["input_ids"]
            if self._is_chat and have_prefixes(labels):
                labels = [[*label, self._tokenizer.eos_token_id] for label in labels]
            longest = max(map(len, labels))
            own = [place for place, request in requests if request.labels == names]
            fitting = [place for place in own if len(prompts[place]) + longest <= context_length]
            for place in sorted(set(own) - set(fitting)):
                keep(place, ModelAnswer("", 0, 0, Ending.TOO_LONG))
            fitting.sort(key=lambda place: (-len(prompts[place]), prompts[place]))
            label_scores = score_labels(self._model, [prompts[place] for place in fitting], labels, self._batch)
            for place, scores in zip(fitting, chain.from_iterable(label_scores), strict=True):
                keep(
                    place,
                    ModelAnswer(LabelScores(tuple(scores)).to_text(), len(prompts[place]) + sum(map(len, labels)), 0),
                )

    def _generate_answers(self, requests: Sequence[Request], keep: KeepAnswer) -> None:
        prompts = [self._tokens(request.messages) for request in requests]
        context_length = getattr(self._model.config, "max_position_embeddings", None) or 10**9
        order = sorted(range(len(requests)), key=lambda place: (-len(prompts[place]), prompts[place]))
        fitting = []
        for place in order:
            if len(prompts[place]) + requests[place].max_tokens <= context_length:
                fitting.append(place)
            else:
                keep(place, ModelAnswer("", 0, 0, Ending.TOO_LONG))
        for start in range(0, len(fitting), self._batch):
            places = fitting[start : start + self._batch]
            most = [requests[place].max_tokens for place in places]
            for place, answer in zip(places, self._generate([prompts[place] for place in places], most), strict=True):
                keep(place, answer)

    @property
    def parameters(self) -> int:
        """Return the number of the model's parameters; loads the model."""
        return self._loaded[1]

    def _generate(self, prompts: Sequence[Sequence[int]], most: Sequence[int]) -> list[ModelAnswer]:
        import torch
        from transformers import GenerationConfig

        width = max(map(len, prompts))
        pad = self._tokenizer.pad_token_id
        # Padded on the left, because the model continues at the right.
        input_ids = torch.tensor([[pad] * (width - len(row)) + list(row) for row in prompts])  # (B, T)
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in prompts])
        ends = self._end_tokens
        settings = GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=max(most), do_sample=False, pad_token_id=pad, eos_token_id=sorted(ends) or None
        )
        device = self._model.device
        with torch.inference_mode():
            output = self._model.generate(
                input_ids=input_ids.to(device), attention_mask=mask.to(device), generation_config=settings
            )
        answers = []
        for row, prompt, longest in zip(output[:, width:].tolist(), prompts, most, strict=True):
            end = next((place for place, token in enumerate(row) if token in ends), len(row))
            written = row[: min(end, longest)]
            text = self._tokenizer.decode(written, skip_special_tokens=True)
            shown = text if self._is_chat else text.strip().split("\n\n")[0]
            # Text that continues past an empty line ended there.
            is_whole = end < longest or (not self._is_chat and "\n\n" in text.strip())
            ending = Ending.COMPLETE if is_whole else Ending.TRUNCATED
            answers.append(ModelAnswer(shown, len(prompt), len(written), ending))
        return answers

    @property
    def _end_tokens(self) -> set[int]:
        """Return the end-of-text tokens of the model and the tokenizer."""
        given = self._model.generation_config.eos_token_id
        listed = given if isinstance(given, list) else [given]
        return {token for token in (*listed, self._tokenizer.eos_token_id) if token is not None}

    @property
    def _is_chat(self) -> bool:
        return bool(self._tokenizer.chat_template)

    def _tokens(self, messages: Sequence[Message], *, ends_open: bool = False) -> list[int]:
        if not self._is_chat:
            return list(self._tokenizer(plain_text(messages, ends_open=ends_open))["input_ids"])
        from jinja2 import TemplateError

        def tokens(turns: Sequence[Message]) -> list[int]:
            text = self._tokenizer.apply_chat_template(list(turns), tokenize=False, add_generation_prompt=True)
            return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

        try:
            return tokens(messages)
        except TemplateError:  # templates without a system role get that text before the first user message
            return tokens(_without_system(messages))

    @cached_property
    def _tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        tokenizer = self._load(AutoTokenizer)
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        return tokenizer

    @cached_property
    def _device(self) -> str:
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"

    @property
    def _model(self) -> Any:
        return self._loaded[0]

    @cached_property
    def _loaded(self) -> tuple[Any, int]:
        """Load the model; count its parameters before its last layer gets a copy in single precision."""
        import torch
        from transformers import AutoModelForCausalLM, GgufConfig

        dtypes = {Precision.BF16: torch.bfloat16, Precision.FP32: torch.float32}
        # Half precision is slow, or unsupported, on most CPUs.
        usual = torch.float32 if self._device == "cpu" else "auto"
        # Quantised weights are dequantised, because kernels for quantised blocks differ between machines.
        unpacked = {} if self._gguf is None else {"quantization_config": GgufConfig(dequantize=True)}
        model = self._load(AutoModelForCausalLM, dtype=dtypes.get(self._precision, usual), **unpacked)
        model, n_parameters = model.to(self._device).eval(), int(model.num_parameters())
        if self._scores_labels:
            _use_float_head(model)
        return model, n_parameters

    def _load(self, kind: Any, **options: Any) -> Any:
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        where = self._name
        if self._gguf is not None:
            where, options = str(self._gguf.parent), {**options, "gguf_file": self._gguf.name}
        try:
            return kind.from_pretrained(where, trust_remote_code=False, **options)
        except Exception as error:  # the library does not validate a model's files, so it may raise anything
            cure = "pass the folder of a causal language model with its tokenizer, a GGUF file, or a Hub id"
            raise InvalidInput(Problem("the model cannot be loaded", self._name, first_line(error), cure)) from error


def _use_float_head(model: Any) -> None:
    """Replace the last layer by one in single precision: bf16 has only two or three digits, so labels would tie."""
    import torch

    if model.get_output_embeddings().weight.dtype == torch.float32:
        return
    head = deepcopy(model.get_output_embeddings()).to(torch.float32)
    head.register_forward_pre_hook(lambda _, inputs: tuple(each.to(torch.float32) for each in inputs))
    model.set_output_embeddings(head)


def _without_system(messages: Sequence[Message]) -> list[Message]:
    if messages[0]["role"] != "system":
        return list(messages)
    first = {"role": "user", "content": f"{messages[0]['content']}\n\n{messages[1]['content']}"}
    return [first, *messages[2:]]


def files_key(where: Path) -> str:
    """Hash the names and states of a model's files; hashing the weights would take too long."""
    files = {".": file_state(where)} if where.is_file() else folder_state(where)
    return cache_key({"path": str(where.resolve()), "files": files})


def find_gguf(name: str) -> Path | None:
    """Find the GGUF file of a model.

    Returns: the file itself, or the one in a folder without a model in another format; None for other names.
    Raises: InvalidInput if there is no such file, the folder has several, or the package ``gguf`` is not installed.
    """
    path = Path(name)
    if path.suffix == GGUF_SUFFIX:
        if not path.is_file():
            raise InvalidInput(Problem("there is no such file", name, cure="check the path of the model"))
        files = [path]
    elif path.is_dir() and not (path / "config.json").exists():
        files = sorted(path.glob(f"*{GGUF_SUFFIX}"))
    else:
        return None
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise InvalidInput(Problem("the folder contains several models", name, names, "pass the path of one of them"))
    if files:
        require("gguf", "gguf")
    return files[0] if files else None
