"""Parsing of a model's response into a label, tags, a span or a text; None if it is unusable.

Lenient about text around an answer, strict about the answer itself: nothing is guessed.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby

from shiftbench.baselines.prompting.instructions import NO_ANSWER
from shiftbench.baselines.prompting.models import Ending
from shiftbench.validation.limits import MAX_CHARACTERS

OUTSIDE = "O"
"""The tag of a word outside any span."""

_QUOTED = re.compile(r"""(["'“‘`])(.+)(["'”’`])""", re.DOTALL)


@dataclass(frozen=True)
class AnswerForms:
    """The contents of ``answers.toml``: finish reasons, and patterns of reasoning and of text around an answer.

    Attributes:
        endings: by a server's finish reason, in lower case; None for reasons that mean a failed response.
        reasoning: patterns of the start and end of reasoning, one pair per family of models.
        wrapper: pattern of what is removed around an answer.
    """

    endings: dict[str, Ending | None]
    reasoning: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    wrapper: re.Pattern[str]


@cache
def answer_forms() -> AnswerForms:
    """Read ``answers.toml``."""
    data = tomllib.loads(files(__package__).joinpath("answers.toml").read_text(encoding="utf-8"))
    kinds = {"truncated": Ending.TRUNCATED, "refused": Ending.REFUSED, "failed": None}
    return AnswerForms(
        {word: kinds[kind] for kind, words in data["endings"].items() for word in words},
        tuple((re.compile(each["start"]), re.compile(each["end"], re.DOTALL)) for each in data["reasoning"]),
        re.compile("|".join(data["wrappers"]["patterns"])),
    )


def usable_text(response: str) -> str:
    """Remove reasoning before an answer, and white space around it.

    Truncated reasoning leaves no answer. The patterns are in ``answers.toml``.

    >>> usable_text("<think>positive? no</think> Negative."), usable_text("[THINK]It may be positive, but")
    ('Negative.', '')
    """
    forms = answer_forms()
    for start, end in forms.reasoning:
        # Some templates contain the start themselves, so that a response has only the end.
        past = max((match.end() for match in end.finditer(response)), default=0)
        response = response[past:]
        if begun := start.search(response):
            response = response[: begun.start()]
    return forms.wrapper.sub("", response).strip()


def first_label(response: str, labels: Sequence[str]) -> str | None:
    """Find the label that occurs first as a separate word, ignoring case (DR paper, appendix E).

    Of labels that start at the same position, the longest is returned. A label's underscores also match spaces.

    >>> first_label("It is not neutral: POSITIVE.", ["negative", "positive", "neutral"])
    'neutral'
    >>> first_label("unpositively", ["negative", "positive"])
    """
    mentions = []
    for label in labels:
        words = r"[_ ]".join(re.escape(part) for part in label.split("_"))
        if match := re.search(rf"(?<!\w){words}(?!\w)", response, flags=re.IGNORECASE):
            mentions.append((match.start(), -len(label), label))
    return min(mentions)[2] if mentions else None


def tag_sequence(response: str, tags: Sequence[str], n_words: int) -> list[str] | None:
    """Find the first uninterrupted run of exactly ``n_words`` tags, on one line or else across lines.

    Text before and after it is ignored.

    >>> tag_sequence("Tags: [o, T-POS] as 'piano' is praised", ["O", "T-POS"], 2)
    ['O', 'T-POS']
    >>> tag_sequence("O T-POS O", ["O", "T-POS"], 2)
    """
    by_folded = {tag.casefold(): tag for tag in tags}
    for part in (*response.splitlines(), response):
        words = re.findall(r"""[^\s,;|\[\]()"'`*]+""", part)
        named = [by_folded.get(word.rstrip(".").casefold()) for word in words]
        for is_tag, group in groupby(named, key=lambda tag: tag is not None):
            run = [tag for tag in group if tag is not None]
            if is_tag and len(run) == n_words:
                return run
    return None


def entity_types(tags: Sequence[str]) -> list[str]:
    """List the entity types of a BIO tag set, in its order; empty for other tag sets.

    >>> entity_types(["O", "B-person", "I-person"]), entity_types(["O", "T-POS"])
    (['person'], [])
    """
    marks = [tag.partition("-") for tag in tags if tag != OUTSIDE]
    if any(mark not in ("B", "I") or not name for mark, _, name in marks):
        return []
    return list(dict.fromkeys(name for _, _, name in marks))


def entity_lists(response: str, types: Sequence[str], words: Sequence[str]) -> list[str] | None:
    """Convert lists of entities by type, as in ``Person: Ada Lovelace; Grace Hopper``, to one BIO tag per word.

    Every occurrence of an entity's words is tagged, longest entities first. 'None' and entities that are not in the
    text are ignored. If a response has no semicolon, an item that is not in the text is split at commas. Returns None
    if no type is named.

    >>> entity_lists("Person: Ada Lovelace // Location: None", ["person", "location"], ["Ada", "Lovelace", "wrote"])
    ['B-person', 'I-person', 'O']
    """
    names = "|".join(re.escape(name) for name in types)
    heads = list(re.finditer(rf"(?<!\w)({names})\s*:", response, flags=re.IGNORECASE))
    if not heads:
        return None
    text = "".join(words)
    entities: list[tuple[str, str]] = []
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        listed = response[head.end() : following.start() if following else len(response)]
        name = next(name for name in types if name.casefold() == head[1].casefold())
        for entity in re.split(r";|//|\n", listed):
            letters = "".join(entity.split())
            whole = ";" in response or letters.rstrip(".") in text
            entities += [(part, name) for part in ([letters] if whole else letters.split(","))]
    tags = [OUTSIDE] * len(words)
    for entity, name in sorted(entities, key=lambda item: (-len(item[0]), item)):
        if entity.rstrip(".").casefold() not in ("", "none") and not _tag_entity(tags, words, entity, name):
            _tag_entity(tags, words, entity.rstrip("."), name)  # a full stop may end the list, or belong to the entity
    return tags


def _tag_entity(tags: list[str], words: Sequence[str], entity: str, name: str) -> bool:
    """Tag every untagged occurrence of words that, joined, equal the entity; return whether there is one."""
    is_tagged = False
    for start in range(len(words)):
        joined, end = "", start
        while end < len(words) and len(joined) < len(entity):
            joined, end = joined + words[end], end + 1
        if joined == entity and all(tag == OUTSIDE for tag in tags[start:end]):
            tags[start:end] = [f"B-{name}", *[f"I-{name}"] * (end - start - 1)]
            is_tagged = True
    return is_tagged


def span(response: str) -> str | None:
    """Parse the answer to a question from the first non-empty line; "" if the model replies that there is none.

    >>> span('Answer: "the harbour"'), span("No answer."), span("")
    ('the harbour', '', None)
    """
    lines = [re.sub(r"\Aanswer:\s*", "", line.strip(), flags=re.IGNORECASE) for line in response.splitlines()]
    text = _unquoted(next((line for line in lines if line), ""))
    if re.fullmatch(rf"{NO_ANSWER}\W*", text, flags=re.IGNORECASE):
        return ""
    return text[: MAX_CHARACTERS["prediction"]] or None


def free_text(response: str) -> str | None:
    """Parse a generated text; quotes around all of it are removed.

    >>> free_text('"A fine kettle"'), free_text(" ")
    ('A fine kettle', None)
    """
    return _unquoted(response.strip())[: MAX_CHARACTERS["prediction"]] or None


def _unquoted(text: str) -> str:
    match = _QUOTED.fullmatch(text)
    return match[2].strip() if match and match[1] not in match[2] and match[3] not in match[2] else text
