"""What answers are taken to mean, clean, verbose and unusable ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.baselines.prompting.parsing import entity_lists, first_label, free_text, span, tag_sequence, usable_text

NLI = ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize(
    ("response", "label"),
    [
        ("contradiction", "contradiction"),
        ("**Neutral**.", "neutral"),
        ("The answer is Entailment, as it is neither neutral nor a contradiction.", "entailment"),
        ("label: CONTRADICTION\n\nneutral would need more", "contradiction"),
        ("entailments", None),
        ("I cannot help with that.", None),
        ("", None),
    ],
)
def test_the_first_label_counts(response: str, label: str | None) -> None:
    assert first_label(response, NLI) == label


def test_the_longer_of_two_labels_at_one_place_counts() -> None:
    assert first_label("Very bad!", ["bad", "very_bad", "very"]) == "very_bad"
    assert first_label("3 stars", ["1", "2", "3"]) == "3"
    assert first_label("13 stars", ["1", "2", "3"]) is None
    assert first_label("a c++ (old) text", ["c", "c++"]) == "c++"


@pytest.mark.parametrize(
    ("response", "tags"),
    [
        ("O T-POS O", "O T-POS O"),
        ("o, t-pos, o", "O T-POS O"),
        ('["O", "T-NEG", "T-NEU"]', "O T-NEG T-NEU"),
        ("Tags:\nO\nO\nT-POS.", "O O T-POS"),
        ("Here they are: `O T-POS O`\nT-POS is for the piano.", "O T-POS O"),
        ("As for O: O T-POS O", "O T-POS O"),
        ("O T-POS", None),
        ("O T-POS O O", None),
        ("O T-GOOD O", None),
        ("", None),
    ],
)
def test_tags_are_one_a_word_or_none(response: str, tags: str | None) -> None:
    found = tag_sequence(response, ["O", "T-POS", "T-NEG", "T-NEU"], 3)
    assert found == (tags.split() if tags else None)


TYPES = ["location", "person", "organization"]
WORDS = ["Ada", "of", "Acme", "Inc", ".", "met", "Ada", "Byron", "in", "Old", "Town"]


@pytest.mark.parametrize(
    ("response", "tagged"),
    [
        ("Location: Old Town // Person: None", "O O O O O O O O O B-location I-location"),
        ("PERSON: Ada Byron", "O O O O O O B-person I-person O O O"),
        ("Person: Ada; Ada Byron.", "B-person O O O O O B-person I-person O O O"),
        ("Person: Ada, Ada Byron.", "B-person O O O O O B-person I-person O O O"),
        ("Organization: Acme Inc.", "O O B-organization I-organization I-organization O O O O O O"),
        ("Organization: Acme\nPerson: Byron", "O O B-organization O O O O B-person O O O"),
        ("Location: Town; Atlantis.", "O O O O O O O O O O B-location"),
        ("Location: Town, Texas; Atlantis", "O O O O O O O O O O O"),
        ("Location: None. Person: none", "O O O O O O O O O O O"),
    ],
)
def test_entities_by_type_become_tags(response: str, tagged: str) -> None:
    assert entity_lists(response, TYPES, WORDS) == tagged.split()


def test_an_entity_may_have_a_comma() -> None:
    words = ["Acme", ",", "Inc", ".", "of", "Old", "Town"]
    acme = ["B-organization", "I-organization", "I-organization", "I-organization", "O"]
    for response in ("Organization: Acme, Inc.", "Organization: Acme , Inc .; Old Town // Person: None"):
        assert (entity_lists(response, TYPES, words) or [])[:5] == acme


def test_no_type_named_is_no_answer() -> None:
    assert entity_lists("There are no entities.", TYPES, WORDS) is None


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("the harbour", "the harbour"),
        ("  Answer: the harbour\nIt says so.", "the harbour"),
        ("“the harbour”", "the harbour"),
        ("'s-Hertogenbosch", "'s-Hertogenbosch"),
        ('"A" and "B"', '"A" and "B"'),
        ("NO ANSWER!", ""),
        ('"No answer"', ""),
        ("No answer was given by the mayor", "No answer was given by the mayor"),
        ("\n \n", None),
    ],
)
def test_spans(response: str, answer: str | None) -> None:
    assert span(response) == answer


REASONING = "neutral? The premise says so, but entailment"
MARKED = {
    "think": ("<think>", "</think>"),
    "thinking": ("<thinking>", "</thinking>"),
    "magistral": ("[THINK]", "[/THINK]"),
    "reasoning": ("<reasoning>", "</reasoning>"),
    "seed": ("<seed:think>", "</seed:think>"),
    "exaone": ("<thought>", "</thought>"),
    "kimi": ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    "command-a": ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    "gemma": ("<|channel>thought\n", "<channel|>"),
    "gpt-oss": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    "gpt-oss, constrained": (
        "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
    ),
    "gpt-oss, two channels": (
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    "gpt-oss without special tokens": ("analysisIs it ", "assistantfinal"),
}  # fmt: skip


@pytest.mark.parametrize(("start", "end"), MARKED.values(), ids=MARKED.keys())
def test_reasoning_before_an_answer_is_no_part_of_it(start: str, end: str) -> None:
    whole = f"{start}{REASONING}{end}"
    assert usable_text(f"{whole}\n\ncontradiction") == "contradiction"
    assert first_label(usable_text(f"\n{whole}Contradiction.<|return|>"), NLI) == "contradiction"
    assert usable_text(f"{REASONING}{end} contradiction") == "contradiction"  # the template wrote the start
    assert usable_text(f"{start}{REASONING}") == ""  # cut off before an answer


@pytest.mark.parametrize("text", ["plain", "analysis of the text", "I think: neutral", "the final channel"])
def test_an_answer_without_reasoning_stays(text: str) -> None:
    assert usable_text(f" {text} ") == text
    assert usable_text(f"<answer>{text}</answer>") == text


@settings(max_examples=40)
@given(st.text(), st.integers(1, 4))
def test_no_text_breaks_a_parser(response: str, n_words: int) -> None:
    words = [f"w{place}" for place in range(n_words)]
    assert first_label(response, NLI) in (None, *NLI)
    for tags in (tag_sequence(response, ["O", "B-x"], n_words), entity_lists(f"x: {response}", ["x"], words)):
        assert tags is None or len(tags) == n_words
    for text in (span(response), free_text(response)):
        assert text is None or len(text) <= 20_000
