"""Facts about an entry's model: the card's, and for missing ones those of the model's page on the Hugging Face Hub.

The Hub is queried once, when an entry is submitted, and the result is stored in the entry. The model is the card's
``model_url`` on the Hub, else its ``base_model`` if that is a repository's name. The card's statements always take
precedence, so a card can correct the Hub.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import pydantic

from shiftbench.builders.hub_access import reaching_hub
from shiftbench.validation.cards import Card, Day
from shiftbench.validation.outside import MAX_COUNT, MAX_NAME, Count, OutsideText
from shiftbench.validation.plain_text import escape_invisible

MODEL_FACTS = ("licence", "open_weights", "released", "parameters", "base_model")
"""Keys of the card that can also be filled from the Hub."""
SECONDS_FOR_HUB = 5.0
FROM_CARD, OF_MODEL, OF_BASE_MODEL = "card", "model", "base model"
"""Origins of a fact: the card, or the Hub's page of the model or of its base model."""
_HUB = "https://huggingface.co/"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_WEIGHTS = (".safetensors", ".gguf", "pytorch_model.bin", ".h5", ".msgpack", ".onnx", ".skops")
"""Suffixes of weight files."""


class HubFacts(pydantic.BaseModel):
    """The Hub's facts about a model, at a revision of its repository; None if not stated."""

    model_config = pydantic.ConfigDict(frozen=True)

    repository: OutsideText
    revision: OutsideText | None = None
    is_base: bool = False
    licence: OutsideText | None = None
    open_weights: bool | None = None
    released: Day | None = None
    parameters: Count | None = None
    base_model: OutsideText | None = None

    @property
    def source(self) -> str:
        """Return whose page the facts are from."""
        return OF_BASE_MODEL if self.is_base else OF_MODEL


class Fact(NamedTuple):
    """A fact about a model with its origin: ``FROM_CARD``, ``OF_MODEL`` or ``OF_BASE_MODEL``."""

    value: str | int | bool
    source: str


def model_facts(card: Card, hub: HubFacts | None = None) -> dict[str, Fact]:
    """Return the known ``MODEL_FACTS``, by key of the card."""
    facts = {}
    for key in MODEL_FACTS:
        stated, found = getattr(card, key), getattr(hub, key, None)
        if stated is not None:
            facts[key] = Fact(stated, FROM_CARD)
        elif hub is not None and found is not None:
            facts[key] = Fact(found, hub.source)
    return facts


def hub_repository(model_url: str | None, base_model: str | None) -> tuple[str, bool] | None:
    """Return the Hub repository of a card's model, and whether it is the base model's.

    >>> hub_repository("https://huggingface.co/lab/a/tree/main", None)
    ('lab/a', False)
    >>> hub_repository(None, "microsoft/deberta-v3-base")
    ('microsoft/deberta-v3-base', True)
    """
    if model_url and model_url.startswith(_HUB):
        name = "/".join(model_url.removeprefix(_HUB).split("?")[0].split("#")[0].split("/")[:2])
        if _HUB_ID.fullmatch(name) and not name.startswith(("datasets/", "spaces/")):
            return name, False
    if base_model and _HUB_ID.fullmatch(base_model):
        return base_model, True
    return None


def read_hub_facts(card: Card) -> HubFacts | None:
    """Read the Hub's facts about a card's model (``find_hub_facts``), unless the card states all of them."""
    if all(getattr(card, key) is not None for key in MODEL_FACTS):
        return None
    return find_hub_facts(card.model_url, card.base_model)


def find_hub_facts(model_url: str | None, base_model: str | None) -> HubFacts | None:
    """Find the Hub's public facts about a model: without a token, so that no private page is revealed.

    Returns: None if neither argument is a model on the Hub.
    Raises: InvalidInput if the Hub cannot be read, or has no such public model.
    """
    from huggingface_hub import HfApi

    named = hub_repository(model_url, base_model)
    if named is None:
        return None
    repository, is_base = named
    with reaching_hub(f"the model {repository}", "give licence, size and release date in the card"):
        info = HfApi(token=False).model_info(repository, timeout=SECONDS_FOR_HUB)
    about: Mapping[str, Any] = vars(info.card_data) if info.card_data else {}
    files = [each.rfilename for each in info.siblings or ()]
    n_weights = info.safetensors.total if info.safetensors else None
    base = about.get("base_model")
    base = base[0] if isinstance(base, list) and len(base) == 1 else base
    return HubFacts(
        repository=repository,
        revision=info.sha,
        is_base=is_base,
        licence=_plain(about.get("license_name") if about.get("license") == "other" else about.get("license")),
        open_weights=any(name.endswith(_WEIGHTS) for name in files),
        released=info.created_at.date().isoformat() if info.created_at else None,
        parameters=n_weights if isinstance(n_weights, int) and 0 <= n_weights <= MAX_COUNT else None,
        base_model=None if is_base else _plain(base),
    )


def _plain(value: object) -> str | None:
    """Return a text from a Hub page as one line without invisible characters; None for anything else."""
    return escape_invisible(value)[:MAX_NAME] if isinstance(value, str) and value.strip() else None
