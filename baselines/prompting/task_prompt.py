"""One task as a conversation: the messages for a test example, and the parsing of the response.

Two protocols. ``dr`` (DR paper, appendix E): the instruction is the system message, the example the user message, and
each demonstration a user and an assistant message before it, truncated to 256 tokens. ``boss`` (BOSS paper, Table 22):
instruction, format, demonstrations and input in one user message; entities are listed by type instead of tagged word by
word, separated here by semicolons, because some entities contain commas.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shiftbench.baselines.prompting import parsing
from shiftbench.baselines.prompting.instructions import NO_ANSWER, Wording, wording
from shiftbench.baselines.prompting.models import Ending, Message, ModelAnswer, Request
from shiftbench.baselines.prompting.scored_labels import CONTENT_FREE
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.vocabulary import TOKENS, UNPARSED, TaskKind

Row = Mapping[str, Any]
"""One row of a split, as returned by ``DataFrame.row(named=True)``."""

DEMONSTRATION_WORDS = 192
"""Maximum words of a demonstration of DR: 256 tokens at three words per four tokens, as no tokenizer is available."""

_MOST_TOKENS = {TaskKind.CLASSIFICATION: 64, TaskKind.TAGGING: 64, TaskKind.EXTRACTIVE_QA: 64, TaskKind.GENERATION: 128}
_TOKENS_A_TAG = 8


class PromptProtocol(StrEnum):
    """The paper whose prompt layout is used."""

    DR = "dr"
    BOSS = "boss"


@dataclass(frozen=True)
class TaskPrompt:
    """The prompt of one task, and the parsing of responses.

    Attributes:
        words: instruction, and names of fields.
        max_tokens: maximum tokens of a response; None: a default for the kind of task.
    """

    kind: TaskKind
    labels: tuple[str, ...]
    words: Wording
    protocol: PromptProtocol
    max_tokens: int | None = None

    @classmethod
    def of(
        cls,
        folder: DatasetFolder,
        task: str,
        protocol: PromptProtocol | None = None,
        instruction: str | None = None,
        max_tokens: int | None = None,
    ) -> "TaskPrompt":
        """Build the prompt of a dataset's task.

        Args:
            protocol: layout of the prompt; None: the benchmark's.
            instruction: user instruction, in which ``{labels}`` is replaced; None: ours.
            max_tokens: maximum tokens of a response; None: a default for the kind of task.
        """
        info, benchmark = folder.task(task), folder.manifest.benchmark
        layout = protocol or (PromptProtocol.BOSS if benchmark == PromptProtocol.BOSS else PromptProtocol.DR)
        return cls(info.kind, info.labels, wording(benchmark, task, info, instruction), layout, max_tokens)

    @property
    def default_shots(self) -> int:
        """Return the number of demonstrations in the papers' main settings: DR 4; BOSS one per label, NER 7, QA 1."""
        if self.protocol is PromptProtocol.DR:
            return 4
        return {TaskKind.CLASSIFICATION: len(self.labels), TaskKind.TAGGING: 7}.get(self.kind, 1)

    def request(self, row: Row, demonstrations: Sequence[Row]) -> Request:
        """Build the request for a test example, after demonstrations in this order."""
        build = self._dr_messages if self.protocol is PromptProtocol.DR else self._boss_messages
        most = _MOST_TOKENS[self.kind] + (_TOKENS_A_TAG * len(row[TOKENS]) if self.kind is TaskKind.TAGGING else 0)
        labels = self.labels if self.kind is TaskKind.CLASSIFICATION else ()
        is_open = self.protocol is PromptProtocol.BOSS
        return Request(build(row, demonstrations), self.max_tokens or most, labels, ends_open=is_open)

    def content_free_requests(self, demonstrations: Sequence[Row]) -> list[Request]:
        """Build the requests for content-free inputs, after the same demonstrations."""
        columns = [column for column, _ in self.words.fields]
        return [self.request(dict.fromkeys(columns, text), demonstrations) for text in CONTENT_FREE]

    def read(self, answer: ModelAnswer, row: Row) -> str:
        """Parse a model's response to a test example as a prediction; ``UNPARSED`` if unusable or refused."""
        if not answer.text or answer.ending is Ending.REFUSED:
            return UNPARSED
        return self.prediction(answer.text, row)

    def prediction(self, response: str, row: Row) -> str:
        """Parse the text of a response: a label, tags joined by spaces, or a text; ``UNPARSED`` if it is unusable."""
        text = parsing.usable_text(response)
        if self.protocol is PromptProtocol.BOSS:
            text = text.split("###")[0].strip()  # a base model may continue with the next heading
        if self.kind is TaskKind.TAGGING:
            tags = self._tags(text, row[TOKENS])
            return " ".join(tags) if tags else UNPARSED
        if self.kind is TaskKind.CLASSIFICATION:
            answer = parsing.first_label(text, self.labels)
        else:
            answer = parsing.span(text) if self.kind is TaskKind.EXTRACTIVE_QA else parsing.free_text(text)
        return UNPARSED if answer is None else answer

    def answer(self, row: Row) -> str:
        """Format the gold answer of a row as a model should reply, for a demonstration."""
        if self.kind is TaskKind.CLASSIFICATION:
            return self.labels[row["label"]]
        if self.kind is TaskKind.EXTRACTIVE_QA:
            return next(iter(row["answers"]["text"]), NO_ANSWER)
        if self.kind is TaskKind.GENERATION:
            return str(row["target_text"])
        tags = [self.labels[code] for code in row["tags"]]
        return _format_entities(tags, row[TOKENS], self._types) if self._types else " ".join(tags)

    @property
    def _types(self) -> list[str]:
        """Return the entity types if entities are listed instead of tagged, else an empty list."""
        listed = self.kind is TaskKind.TAGGING and self.protocol is PromptProtocol.BOSS
        return parsing.entity_types(self.labels) if listed else []

    def _tags(self, text: str, tokens: Sequence[str]) -> list[str] | None:
        if self._types:
            return parsing.entity_lists(text, self._types, tokens)
        return parsing.tag_sequence(text, self.labels, len(tokens))

    def _dr_messages(self, row: Row, demonstrations: Sequence[Row]) -> tuple[Message, ...]:
        turns = [("system", self.words.instruction)]
        for shown in demonstrations:
            short = _cut_demonstration(shown, [column for column, _ in self.words.fields])
            turns += [("user", self._fields(short, "\n")), ("assistant", self.answer(short))]
        turns.append(("user", self._fields(row, "\n")))
        return tuple({"role": role, "content": content} for role, content in turns)

    def _boss_messages(self, row: Row, demonstrations: Sequence[Row]) -> tuple[Message, ...]:
        blank = " // ".join(f"{name}: {{{{{name}}}}}" for _, name in self.words.fields)
        answer = self.words.answer
        instruction, answered = self.words.instruction, f"{{{{{answer}}}}}"
        if self._types:
            instruction += " Their types are: " + ", ".join(name.capitalize() for name in self._types) + "."
            instruction += " List the entities of each type, separated by semicolons; write None where there are none."
            answered = " // ".join(f"{name.capitalize()}: Entity; Entity" for name in self._types)
        parts = ["### Instruction ###", instruction, "### Format ###", f"{blank} // {answer}: {answered}"]
        if demonstrations:
            parts.append("### Examples ###")
            parts += [f"{self._fields(shown, ' // ')} // {answer}: {self.answer(shown)}" for shown in demonstrations]
        parts += ["### Input ###", f"{self._fields(row, ' // ')} // {answer}:"]
        return ({"role": "user", "content": "\n".join(parts)},)

    def _fields(self, row: Row, joiner: str) -> str:
        shown = {column: " ".join(row[column]) if column == TOKENS else row[column] for column, _ in self.words.fields}
        return joiner.join(f"{name}: {shown[column]}" for column, name in self.words.fields)


def _format_entities(tags: Sequence[str], tokens: Sequence[str], types: Sequence[str]) -> str:
    """Format entities by type, each once, in the format that ``entity_lists`` parses."""
    entities_by_type: dict[str, list[str]] = {name: [] for name in types}
    for place, (tag, token) in enumerate(zip(tags, tokens, strict=True)):
        mark, _, name = tag.partition("-")
        if tag == parsing.OUTSIDE:
            continue
        if mark == "I" and place and tags[place - 1].partition("-")[2] == name:
            entities_by_type[name][-1] += f" {token}"
        else:
            entities_by_type[name].append(token)
    return " // ".join(
        f"{name.capitalize()}: {'; '.join(dict.fromkeys(entities)) or 'None'}"
        for name, entities in entities_by_type.items()
    )


def _cut_demonstration(row: Row, columns: Sequence[str]) -> Row:
    """Truncate the longest input (and its tags) so that a demonstration has at most ``DEMONSTRATION_WORDS``."""
    words = {column: row[column] if column == TOKENS else row[column].split() for column in columns}
    too_many = sum(map(len, words.values())) - DEMONSTRATION_WORDS
    if too_many <= 0:
        return row
    longest = max(columns, key=lambda column: len(words[column]))
    kept = words[longest][: max(1, len(words[longest]) - too_many)]
    if longest == TOKENS:
        return {**row, TOKENS: kept, "tags": row["tags"][: len(kept)]}
    return {**row, longest: " ".join(kept)}
