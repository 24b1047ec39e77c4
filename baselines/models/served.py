"""A language model behind an OpenAI-compatible server, prompted zero-shot; responses are cached."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.baselines.models.loaded import LoadedModel, TextCounts
from shiftbench.baselines.models.settings import SERVED
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, plural
from shiftbench.validation.vocabulary import UNPARSED, TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.models.settings import LoadRequest
    from shiftbench.baselines.prompting.models import ModelAnswer
    from shiftbench.baselines.prompting.server import ModelServer
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt


_SHOWN, _SHOWN_LETTERS = 4, 60
"""Number of responses shown in an error message, and characters of each."""


@dataclass
class ServedModel(LoadedModel):
    """A served model and its prompt.

    A response that cannot be parsed is predicted as ``__unparsed__``; an unanswered request raises InvalidInput.
    """

    server: "ModelServer | None" = None
    prompt: "TaskPrompt | None" = None
    label_map: Mapping[str, str] = field(default_factory=dict)

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
        texts = [self._read(answer, row) for answer, row in zip(answers, test, strict=True)]
        said = [answer.text for answer in answers if answer.text and answer.ending != "refused"]
        if said and len(test) == self.counts.rows and all(text == UNPARSED for text in texts):
            raise InvalidInput(self._describe_unread(said))
        self.counts.add(TextCounts(endings=Counter(answer.ending.value for answer in answers)))
        predictions = pl.Series("prediction", texts, dtype=pl.String)
        if prompt.kind is TaskKind.TAGGING:
            predictions = predictions.str.split(" ")
        return predictions.to_frame()

    def _read(self, answer: "ModelAnswer", row: Mapping[str, Any]) -> str:
        """Parse the response to a row with the task's prompt; names in a label map are mapped to labels."""
        from shiftbench.baselines.prompting.parsing import first_label, usable_text

        assert self.prompt is not None
        read = self.prompt.read(answer, row)
        if not self.label_map or not answer.text or answer.ending == "refused":
            return read
        words = [*self.label_map, *(label for label in self.prompt.labels if label not in self.label_map)]
        word = first_label(usable_text(answer.text), words)
        return UNPARSED if word is None else self.label_map.get(word, word)

    def _describe_unread(self, answers: Sequence[str]) -> Problem:
        """Describe responses none of which could be parsed, quoting the first distinct ones."""
        from shiftbench.baselines.models.labels import map_line

        assert self.prompt is not None
        given = [" ".join(answer.split())[:_SHOWN_LETTERS] for answer in answers]
        distinct = list(dict.fromkeys(given))[:_SHOWN]
        found = f"{', '.join(map(repr, distinct))} of {plural(len(given), 'answer')}"
        what, cure = "no answer of this model could be parsed", "change the instruction: --model-arg instruction=TEXT"
        if self.prompt.kind is TaskKind.CLASSIFICATION:
            what = "no answer of this model contains a label of the task"
            found += f"; the task's labels are {', '.join(map(repr, self.prompt.labels[:_SHOWN]))}"
            cure = f"{cure}; or map its answers: {map_line(distinct, self.prompt.labels)}"
        return Problem(what, self.name, found, cure)


def load_served(request: "LoadRequest") -> ServedModel:
    """Build a model behind a server, without sending a request. See ``load_model``."""
    from shiftbench.baselines.models.labels import match_labels, resolve_label
    from shiftbench.baselines.prompting.instructions import general_wording
    from shiftbench.baselines.prompting.options import API_KEY_ENV, OPENAI, server_address, server_key
    from shiftbench.baselines.prompting.server import ModelServer
    from shiftbench.baselines.prompting.task_prompt import PromptProtocol, TaskPrompt

    request.settings.refuse_unread(request.spec, SERVED)
    if not request.served_model:
        cure = "choose one with --model"
        raise InvalidInput(Problem("a server can have several models", request.spec, cure=cure))
    address = server_address(request.spec)
    key = server_key(request.settings.api_key_env or API_KEY_ENV, is_needed=address == OPENAI) or "none"
    server = ModelServer(
        request.served_model, base_url=address, api_key=key,
        concurrency=request.settings.concurrency, timeout=request.settings.timeout,
    )  # fmt: skip
    of_words = {}
    if request.kind is TaskKind.CLASSIFICATION:
        for word, label in request.label_map.items():
            match_labels([word], request.labels, place=request.spec, label_map={word: label})  # refuses unknown labels
            of_words[word] = label if label == UNPARSED else resolve_label(label, request.labels) or label
    elif request.label_map:
        cure = "omit it; the prompt already uses the task's tags"
        raise InvalidInput(Problem("a server's tags cannot be mapped", "--label-map", request.kind.value, cure))
    words = general_wording(request.kind, request.inputs, request.labels, request.settings.instruction)
    prompt = request.prompt or TaskPrompt(request.kind, request.labels, words, PromptProtocol.DR)
    return ServedModel(
        name=request.served_model, inputs=request.inputs, libraries=("openai",),
        version=[address, request.served_model],
        facts={"base_model": request.served_model, "paradigm": "zero-shot", "shots": 0}, server=server, prompt=prompt,
        label_map=of_words,
    )  # fmt: skip
