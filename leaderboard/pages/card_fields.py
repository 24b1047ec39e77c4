"""Which keys of a card the submit forms ask for, and how: Gradio's form and the plain one ask for the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import Card

COLUMNS = (
    ("name", "model", "base_model", "family", "parameters", "tunable_parameters"),
    ("paradigm", "model_selection", "tuning_trials", "shots", "training_size", "extra_data", "pretraining_domains"),
    ("paper_url", "code_url", "model_url", "url", "contact", "licence", "share_predictions"),
)
"""Keys of the card that a form asks for, a column each; all the others can be written as text."""


@dataclass(frozen=True)
class CardField:
    """One field of a form.

    Attributes:
        key: of the card.
        label: what stands above it; required keys say so.
        info: what it means, if the name does not say so.
        choices: label and value of what can be chosen; empty for free text.
        value: what is chosen before anybody touches it.
    """

    key: str
    label: str
    info: str | None = None
    choices: tuple[tuple[str, str], ...] = ()
    value: str | None = None


def card_fields(folders: Sequence[DatasetFolder]) -> list[list[CardField]]:
    """Return the fields of the form in groups: what the predictions are for, then the columns of ``COLUMNS``."""
    contents = [(folder.manifest.benchmark, folder.content_hash) for folder in folders]
    hashes = tuple((f"{benchmark} {content[:12]}", content) for benchmark, content in contents)
    names = {name for folder in folders for info in folder.manifest.tasks.values() for name in info.subsets}
    subsets = tuple((name, name) for name in ["all", *sorted(names - {"all"})])
    about_data = [
        CardField("data", "Data (required)", "What the predictions are for", hashes, only_data(folders)),
        CardField(
            "subset",
            "Subset",
            "Part of the test texts that the predictions cover; all of them unless you choose one",
            subsets,
        ),
    ]
    return [about_data, *([_field(key) for key in keys] for keys in COLUMNS)]


def only_data(folders: Sequence[DatasetFolder]) -> str | None:
    """Return the content hash of a server's only dataset; None where there are several to choose from."""
    return folders[0].content_hash if len(folders) == 1 else None


def _field(key: str) -> CardField:
    schema = Card.model_json_schema()
    asked = schema["properties"][key]
    kinds = [asked, *asked.get("anyOf", [])]
    choices: list[str] = next((kind["enum"] for kind in kinds if "enum" in kind), [])
    if any(kind.get("type") == "boolean" for kind in kinds):
        choices = ["yes", "no"]
    label = key.replace("_", " ").replace(" url", " address").capitalize()
    if not choices and any(kind.get("type") == "integer" for kind in kinds):
        label = f"{label} (a whole number)"
    if key in schema["required"]:
        label = f"{label} (required)"
    info = asked.get("description")
    return CardField(key, label, info, tuple((choice, choice) for choice in choices))
