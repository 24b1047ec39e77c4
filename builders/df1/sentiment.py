"""The pairings of the Depth F1 paper in sentiment: reviews of films, businesses and two kinds of products, 1 to 5."""

from shiftbench.builders.df1.pairing import pairing_task
from shiftbench.builders.folder.manifest import Pairing
from shiftbench.builders.readers.aligned_lines import rated_texts
from shiftbench.builders.specs.sources import find_source
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec
from shiftbench.builders.specs.transforms import group_by_text, keep_filled, label_from, rename

LABELS = ("1", "2", "3", "4", "5")

DAS = find_source("das")
_TEXT = (keep_filled("text"), group_by_text("text"))
_FIVE = (rename({"text": "text", "rating": "label"}), *_TEXT)
_TEN = (
    # 1 and 2 of ten are 1 of five, and so on.
    label_from("rating", {str(rating): str((rating + 1) // 2) for rating in range(1, 11)}),
    rename({"text": "text", "label": "label"}),
    *_TEXT,
)
_FOLDERS = {"baby": "baby", "cell_phone": "cell_phone", "imdb": "imdb", "yelp": "yelp2014"}


def _part(name: str, split: str) -> DomainSpec:
    highest, transforms = (10, _TEN) if name == "imdb" else (5, _FIVE)
    file = FileSpec(
        DAS, f"das/large/{_FOLDERS[name]}/text.txt", rated_texts("label.txt", highest), beside=("label.txt",)
    )
    return DomainSpec(name=name, files={split: (file,)}, transforms=transforms)


def _pairing(title: str, sources: tuple[str, ...], target: str, pairing: Pairing) -> TaskSpec:
    return pairing_task(
        title,
        sources,
        target,
        pairing,
        part=_part,
        inputs=("text",),
        labels=LABELS,
        # The texts of one file that the draw could take, and some for those that the target has too.
        sample=2 * pairing.source_rows,
        notes=(
            "The paper's draw is not public; here a keyed hash of each text and the build's seed decide, with the "
            "ratings as frequent as upstream has them. Data sets of a joined source are drawn from together, so the "
            "larger one gives more texts.",
            "IMDB's ten ratings are made five by halves (1 and 2 are 1, 9 and 10 are 5), as the paper says. aclImdb is "
            "no substitute for this IMDB: it has no ratings 5 and 6, so label 3 would be empty.",
            "A text is once in a pairing, and texts of the target are not in the source.",
        ),
    )


SIS_1 = _pairing(
    "Ratings: cell phones to baby products",
    ("cell_phone",),
    "baby",
    Pairing(name="SiS-1", source_rows=5_000, target_rows=1_000, reported_q=0.34),
)
SIS_2 = _pairing(
    "Ratings: Yelp to cell phones",
    ("yelp",),
    "cell_phone",
    Pairing(name="SiS-2", source_rows=5_000, target_rows=1_000, reported_q=0.33),
)
MUS_1 = _pairing(
    "Ratings: cell phones, baby products and Yelp to IMDB",
    ("baby", "cell_phone", "yelp"),
    "imdb",
    Pairing(name="MuS-1", source_rows=5_000, target_rows=1_000, reported_q=0.35),
)
MUS_2 = _pairing(
    "Ratings: baby products, IMDB and cell phones to Yelp",
    ("baby", "cell_phone", "imdb"),
    "yelp",
    Pairing(name="MuS-2", source_rows=5_000, target_rows=1_000, reported_q=0.39),
)
