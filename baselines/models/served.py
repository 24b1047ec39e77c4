"""A language model behind an OpenAI-compatible server, asked without demonstrations; answers are kept in the cache."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from shiftbench.baselines.models.loaded import LoadedModel, TextCounts
from shiftbench.baselines.models.settings import SERVED
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.models.settings import LoadRequest
    from shiftbench.baselines.prompting.server import ModelServer
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt


@dataclass
class ServedModel(LoadedModel):
    """A served model and how rows are put to it. What cannot be read of its answers is ``__unparsed__``.

    Its predictions raise InvalidInput where requests stay without an answer: these rows are named.
    """

    server: "ModelServer | None" = None
    prompt: "TaskPrompt | None" = None

    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        from shiftbench.baselines.program import typed_command
        from shiftbench.baselines.prompting.asking import Asker, Budget, Prices, refuse_unanswered
        from shiftbench.baselines.prompting.cache import AnswerStore

        prompt, server = self.prompt, self.server
        assert prompt is not None
        assert server is not None
        test = list(rows.iter_rows(named=True))
        with AnswerStore() as store, progress(shown=False, desc="asking", unit="request") as bar:
            answers = Asker(server, store, Prices(), Budget()).ask([prompt.request(row, ()) for row in test], bar)
        missing = [f"text {place:,}" for place, answer in enumerate(answers, start=1) if answer.text is None]
        refuse_unanswered(missing, len(answers), self.name, typed_command())
        texts = [prompt.read(answer, row) for answer, row in zip(answers, test, strict=True)]
        self.counts.add(TextCounts(endings=Counter(answer.ending.value for answer in answers)))
        predictions = pl.Series("prediction", texts, dtype=pl.String)
        if prompt.kind is TaskKind.TAGGING:
            predictions = predictions.str.split(" ")
        return predictions.to_frame()


def load_served(request: "LoadRequest") -> ServedModel:
    """Build a model behind a server; nothing is asked yet. See ``load_model``."""
    from shiftbench.baselines.prompting.instructions import general_wording
    from shiftbench.baselines.prompting.options import API_KEY_ENV, OPENAI, server_address, server_key
    from shiftbench.baselines.prompting.server import ModelServer
    from shiftbench.baselines.prompting.task_prompt import PromptProtocol, TaskPrompt

    request.settings.refuse_unread(request.spec, SERVED)
    if not request.served_model:
        cure = "name the one to use with --model"
        raise InvalidInput(Problem("a server may have several models", request.spec, cure=cure))
    address = server_address(request.spec)
    key = server_key(request.settings.api_key_env or API_KEY_ENV, is_needed=address == OPENAI) or "none"
    server = ModelServer(
        request.served_model, base_url=address, api_key=key,
        concurrency=request.settings.concurrency, timeout=request.settings.timeout,
    )  # fmt: skip
    words = general_wording(request.kind, request.inputs, request.labels, request.settings.instruction)
    prompt = request.prompt or TaskPrompt(request.kind, request.labels, words, PromptProtocol.DR)
    return ServedModel(
        name=request.served_model, inputs=request.inputs, libraries=("openai",),
        version=[address, request.served_model],
        facts={"base_model": request.served_model, "paradigm": "zero-shot", "shots": 0}, server=server, prompt=prompt,
    )  # fmt: skip
