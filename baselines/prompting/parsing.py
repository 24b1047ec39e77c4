"""Parsing a model's answer into a label, tags, a span or a text; None where the answer cannot be used.

Lenient about what stands around an answer, strict about the answer itself: nothing is guessed.
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
"""The tag of a word that is part of nothing."""

_QUOTED = re.compile(r"""(["'“‘`])(.+)(["'”’`])""", re.DOTALL)


@dataclass(frozen=True)
class AnswerForms:
    """What ``answers.toml`` lists: the words of endings, and patterns of reasoning and of what wraps an answer.

    Attributes:
        endings: by a server's word, in lower case; the words of answers that failed are those of None.
        reasoning: where reasoning starts and where it ends, a pair for each family of models.
        wrapper: what is removed around an answer.
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
    """Remove the reasoning that some models put before an answer, and white space around the answer.

    Reasoning that was cut off before its end has no answer after it. The patterns are those of ``answers.toml``.

    >>> usable_text("<think>positive? no</think> Negative."), usable_text("[THINK]It may be positive, but")
    ('Negative.', '')
    """
    forms = answer_forms()
    for start, end in forms.reasoning:
        # Some templates write the start themselves, so that an answer has the end alone.
        past = max((match.end() for match in end.finditer(response)), default=0)
        response = response[past:]
        if begun := start.search(response):
            response = response[: begun.start()]
    return forms.wrapper.sub("", response).strip()


def first_label(response: str, labels: Sequence[str]) -> str | None:
    """Find the label that is mentioned first, as a word of its own, in any case (DR paper, appendix E).

    Of labels that begin at the same place, the longest. A label's underscores may be spaces.

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
    """Find the first unbroken run of exactly ``n_words`` tags, on one line or, failing that, over several.

    Text before and after it is no harm.

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
    """List the types of a BIO tag set, in its order; none where it is another kind of tag set.

    >>> entity_types(["O", "B-person", "I-person"]), entity_types(["O", "T-POS"])
    (['person'], [])
    """
    marks = [tag.partition("-") for tag in tags if tag != OUTSIDE]
    if any(mark not in ("B", "I") or not name for mark, _, name in marks):
        return []
    return list(dict.fromkeys(name for _, _, name in marks))


def entity_lists(response: str, types: Sequence[str], words: Sequence[str]) -> list[str] | None:
    """Convert lists of entities by type, as in ``Person: Ada Lovelace; Grace Hopper``, to one BIO tag per word.

    Every place where the words of an entity stand is tagged, the longest entities first. 'None' is no entity, and
    what does not stand in the text is passed over. Where an answer has no semicolon, what does not stand in the text
    as a whole is read as a list with commas. None where no type is named.

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
            _tag_entity(tags, words, entity.rstrip("."), name)  # a full stop may end the list, or be the entity's own
    return tags


def _tag_entity(tags: list[str], words: Sequence[str], entity: str, name: str) -> bool:
    """Tag every untagged place whose words, joined, are the entity's letters; returns whether there is one."""
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
    """Read the answer to a question from the first line that has one; "" if the model says there is none.

    >>> span('Answer: "the harbour"'), span("No answer."), span("")
    ('the harbour', '', None)
    """
    lines = [re.sub(r"\Aanswer:\s*", "", line.strip(), flags=re.IGNORECASE) for line in response.splitlines()]
    text = _unquoted(next((line for line in lines if line), ""))
    if re.fullmatch(rf"{NO_ANSWER}\W*", text, flags=re.IGNORECASE):
        return ""
    return text[: MAX_CHARACTERS["prediction"]] or None


def free_text(response: str) -> str | None:
    """Read a generated text; quotes around the whole of it are removed.

    >>> free_text('"A fine kettle"'), free_text(" ")
    ('A fine kettle', None)
    """
    return _unquoted(response.strip())[: MAX_CHARACTERS["prediction"]] or None


def _unquoted(text: str) -> str:
    match = _QUOTED.fullmatch(text)
    return match[2].strip() if match and match[1] not in match[2] and match[3] not in match[2] else text
