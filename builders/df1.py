"""The eight source-target pairings of the Depth F1 paper (Table 1), each a task of its own.

Source: Depth F1 paper, sec. 4.1 and Table 1 (sizes, Q). A task's name is the paper's in lower case, its config the
paper's name; texts of the source's domains are sampled as one pool, from which the pairing's depths and its Depth F1
are computed.

Input: the genres of ``shiftbench.builders.dr``. Output: ``TASKS``, the specs that ``building`` builds.
"""

from collections.abc import Callable
from dataclasses import replace

from shiftbench.builders.dr import inference
from shiftbench.builders.folder.manifest import Pairing
from shiftbench.builders.readers.aligned_lines import rated_texts
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec
from shiftbench.builders.specs.transforms import group_by_text, keep_filled, label_from, rename
from shiftbench.validation.vocabulary import TaskKind

_Part = Callable[[str, str], DomainSpec]
"""(domain name, split) -> the domain restricted to that split."""

TITLE = "Source-target pairings of the Depth F1 paper"
_TEXT = (keep_filled("text"), group_by_text("text"))
_FIVE = (rename({"text": "text", "rating": "label"}), *_TEXT)
_TEN = (
    # Ratings 1 and 2 of ten become 1 of five, and so on.
    label_from("rating", {str(rating): str((rating + 1) // 2) for rating in range(1, 11)}),
    rename({"text": "text", "label": "label"}),
    *_TEXT,
)
_FOLDERS = {"baby": "baby", "cell_phone": "cell_phone", "imdb": "imdb", "yelp": "yelp2014"}
_ACCURACY_NOTE = "Accuracy equals the paper's F1 (micro F1 over all classes)."
_GENRE_NOTES = (
    "The paper's sample is not public; pairs are sampled here by a keyed hash of each pair and the build's seed.",
    "The paper draws from a sample of MultiNLI with about 2,600 train pairs per genre (Ben-David et al. 2022); the "
    "files at RAW/mnli_genres are that sample. A complete build samples from all train pairs of the genre.",
    "Target pairs are sampled from MultiNLI's matched development section; their premises are not in the source.",
    _ACCURACY_NOTE,
)
_RATING_NOTES = (
    "The paper's sample is not public; texts are sampled here by a keyed hash of each text and the build's seed, with "
    "the upstream distribution of ratings. A joined source is sampled from its pooled data sets, so the larger one "
    "contributes more texts.",
    "IMDB's ten ratings are merged in pairs into five (1 and 2 become 1, 9 and 10 become 5), as the paper states. "
    "aclImdb cannot replace this IMDB: it has no ratings 5 and 6, so label 3 would be empty.",
    "A text occurs once in a pairing, and texts of the target are not in the source.",
    _ACCURACY_NOTE,
)


def _genre(name: str, split: str) -> DomainSpec:
    whole = inference.genre(name)
    return replace(whole, files={split: whole.files[split]})


def _reviews(name: str, split: str) -> DomainSpec:
    highest, transforms = (10, _TEN) if name == "imdb" else (5, _FIVE)
    file = FileSpec(f"das/large/{_FOLDERS[name]}/text.txt", rated_texts("label.txt", highest), beside=("label.txt",))
    return DomainSpec(name=name, files={split: (file,)}, transforms=transforms)


def _pairing(part: _Part, name: str, reported_q: float, source_rows: int, title: str, shift: str) -> TaskSpec:
    """Build the task of a pairing: the sources with their train splits, the target with its test split."""
    of_genres = part is _genre
    sources, target = shift.split(" -> ")
    return TaskSpec(
        benchmark="df1",
        name=name.lower(),
        title=f"{'Inference' if of_genres else 'Ratings'}: {title}",
        kind=TaskKind.CLASSIFICATION,
        inputs=("premise", "hypothesis") if of_genres else ("text",),
        labels=inference.LABELS if of_genres else ("1", "2", "3", "4", "5"),
        metric="accuracy",
        domains=(*(part(source, "train") for source in sources.split("+")), part(target, "test")),
        # For ratings: enough texts per file to sample the source from, plus some that are dropped as target texts.
        sample=None if of_genres else 2 * source_rows,
        pairing=Pairing(name=name, source_rows=source_rows, target_rows=1_000, reported_q=reported_q),
        notes=_GENRE_NOTES if of_genres else _RATING_NOTES,
    )


TASKS = (
    _pairing(_reviews, "SiS-1", 0.34, 5_000, "cell phones to baby products", "cell_phone -> baby"),
    _pairing(_reviews, "SiS-2", 0.33, 5_000, "Yelp to cell phones", "yelp -> cell_phone"),
    _pairing(_genre, "SiS-3", 0.34, 2_000, "travel to government", "travel -> government"),
    _pairing(_genre, "SiS-4", 0.42, 2_000, "slate to telephone", "slate -> telephone"),
    _pairing(
        _reviews, "MuS-1", 0.35, 5_000, "cell phones, baby products and Yelp to IMDB", "baby+cell_phone+yelp -> imdb"
    ),
    _pairing(
        _reviews, "MuS-2", 0.39, 5_000, "baby products, IMDB and cell phones to Yelp", "baby+cell_phone+imdb -> yelp"
    ),
    _pairing(_genre, "MuS-3", 0.48, 5_000, "four genres to fiction", "government+slate+telephone+travel -> fiction"),
    _pairing(_genre, "MuS-4", 0.38, 5_000, "four genres to travel", "fiction+government+slate+telephone -> travel"),
)
