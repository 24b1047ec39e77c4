"""A small synthetic corpus, so that everything can be tried offline in a minute. Every text is made by this program.

Two tasks of four domains each: ``nli`` (three hypotheses per premise) and ``sa`` (reviews). Some of the words that
predict the label are shared by all domains, others are specific to one, and some labels are noise, so models lose
accuracy across domains without failing. It only demonstrates the tools.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.assembling.assemble import AssembledTask, assemble
from shiftbench.builders.assembling.cut import Splits
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import Manifest, SourceFacts
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.builders.specs.transforms import text_digest
from shiftbench.builders.writing.withhold import label_key, secret_seed
from shiftbench.builders.writing.writer import check_out, write_folder
from shiftbench.validation.vocabulary import TaskKind

TITLE = "Synthetic demo (generated texts)"
LABEL_NOISE = 0.08

NLI = TaskSpec(
    benchmark="synthetic",
    name="nli",
    title="Inference about generated sentences of four places",
    kind=TaskKind.CLASSIFICATION,
    inputs=("premise", "hypothesis"),
    labels=("entailment", "neutral", "contradiction"),
    metric="macro_f1",
    train=400,
    validation=60,
    test=180,
    domains=(),
    fewshot_domains=("harbour", "kitchen", "orchard"),
    fewshot_size=60,
)
SA = TaskSpec(
    benchmark="synthetic",
    name="sa",
    title="Sentiment of generated reviews of four products",
    kind=TaskKind.CLASSIFICATION,
    inputs=("text",),
    labels=("negative", "positive"),
    metric="macro_f1",
    train=400,
    validation=60,
    test=180,
    domains=(),
)

# place: (people, pairs of opposite actions, things); entailed and contradicting hypotheses use these pairs
_PLACES = {
    "harbour": (
        ("sailor", "harbour master", "diver", "fisherman"),
        (("anchored", "cast off"), ("loaded", "unloaded"), ("hoisted", "lowered"), ("moored", "set adrift")),
        ("trawler", "sail", "cargo net", "ferry", "buoy"),
    ),
    "kitchen": (
        ("cook", "baker", "waiter", "dishwasher"),
        (("heated", "chilled"), ("filled", "emptied"), ("covered", "uncovered"), ("salted", "rinsed")),
        ("kettle", "stew", "copper pan", "bread tin", "larder"),
    ),
    "orchard": (
        ("grower", "picker", "beekeeper", "gardener"),
        (("planted", "uprooted"), ("watered", "dried out"), ("pruned", "left to grow"), ("fenced in", "opened up")),
        ("apple tree", "hive", "hedge", "seed bed", "trellis"),
    ),
    "workshop": (
        ("carpenter", "smith", "apprentice", "welder"),
        (("joined", "took apart"), ("sharpened", "blunted"), ("tightened", "loosened"), ("polished", "scratched")),
        ("table leg", "blade", "gate hinge", "workbench", "iron frame"),
    ),
}
_TIMES = ("at dawn", "before noon", "in the rain", "on Monday", "late at night", "after the storm")
_EXTRAS = ("because the owner had asked for it", "to win a bet", "for the third time that week", "with a borrowed tool")

# product: (praise, complaints, parts), in addition to the phrases shared by all products
_PRODUCTS = {
    "kettles": (("boils fast", "pours clean"), ("leaks at the seam", "tastes of plastic"), ("lid", "spout", "switch")),
    "lamps": (("glows warm", "dims smoothly"), ("flickers", "hums all evening"), ("shade", "cord", "bulb socket")),
    "bicycles": (("rolls quietly", "climbs well"), ("wobbles", "drops its chain"), ("saddle", "brake", "front wheel")),
    "tents": (
        ("stays dry", "pitches in minutes"),
        ("lets in water", "rips at the pegs"),
        ("zip", "pole", "groundsheet"),
    ),
}
_PRAISE = ("I am delighted", "worth every penny", "a joy to use")
_BLAME = ("I want my money back", "a waste of money", "I regret this")
_OPENINGS = (
    "Bought it in spring",
    "My sister picked it",
    "Second one I own",
    "Came in a dented box",
    "Used it for a month",
)


def build_synthetic(
    out: Path,
    *,
    seed: int = 0,
    overwrite: bool = False,
    encoder: Encoder | None = None,
    n_train: int = 400,
    n_test: int = 180,
    withhold_labels: bool = False,
) -> Manifest:
    """Generate the synthetic corpus into a dataset folder.

    Args:
        out: the dataset folder to write.
        seed: determines the texts and the splits. With withheld labels a secret key does, because anyone who knows the
            seed can regenerate the texts.
        overwrite: replace an existing dataset folder.
        encoder: computes the depth tables; None omits them.
        n_train: rows per domain before validation is cut.
        n_test: test rows per domain.
        withhold_labels: write a folder without test labels and one with them.
    Returns: the manifest written; with withheld labels, that of the folder with labels.
    Raises: InvalidInput if ``out`` exists and may not be replaced.
    """
    check_out(out, overwrite=overwrite, withhold=withhold_labels)
    key = label_key(out) if withhold_labels else None
    draws = secret_seed(seed, key)
    rows: dict[TaskSpec, dict[str, Splits]] = {
        NLI: {place: _split(_pairs(place, draws, n_train + n_test), n_test) for place in _PLACES},
        SA: {product: _split(_reviews(product, draws, n_train + n_test), n_test) for product in _PRODUCTS},
    }
    tasks = [
        assemble(
            spec, domains, dict.fromkeys(domains, ("generated",)), seed=draws, equal=False, withhold=withhold_labels
        )
        for spec, domains in rows.items()
    ]
    texts = "Texts generated by builders/building/synthetic.py"
    return write_generated(out, tasks, title=TITLE, texts=texts, seed=seed, encoder=encoder, key=key)


def write_generated(
    out: Path,
    tasks: Sequence[AssembledTask],
    *,
    title: str,
    texts: str,
    seed: int,
    encoder: Encoder | None,
    key: str | None = None,
) -> Manifest:
    """Write tasks of generated texts, whose one source is named 'generated', into a dataset folder.

    Args:
        texts: title of the source.
        encoder: computes the depth tables; None omits them.
        key: secret key of withheld labels; None writes all labels.
    """
    source = SourceFacts(
        title=texts,
        url="https://example.org/none",
        revision="1",
        licence="Apache-2.0",
        spdx="Apache-2.0",
        open_licence=True,
        citation="",
    )
    return write_folder(
        out,
        tasks,
        {"generated": source},
        title=title,
        seed=seed,
        partial=False,
        synthetic=True,
        encoder=encoder,
        label_key=key,
    )


def _pairs(place: str, seed: int, n_rows: int) -> pl.DataFrame:
    rng = np.random.default_rng([seed, *place.encode()])
    people, deeds, things = _PLACES[place]
    rows = []
    for number in range(-(-n_rows // 3)):
        person, thing = rng.choice(people), rng.choice(things)
        deed, opposite = deeds[rng.integers(len(deeds))]
        premise = f"The {person} {deed} the {thing} {rng.choice(_TIMES)}, {number + 2} minutes after the bell."
        someone = rng.choice([f"The {person}", "Someone", "A person at the " + place])
        hypotheses = (
            f"{someone} {deed} the {thing}.",
            f"{someone} {deed} the {thing} {rng.choice(_EXTRAS)}.",
            rng.choice([f"{someone} {opposite} the {thing}.", f"Nobody {deed} the {thing}."]),
        )
        for code, hypothesis in enumerate(hypotheses):
            noisy = int(rng.integers(3)) if rng.random() < LABEL_NOISE else code
            rows.append((premise, str(hypothesis), NLI.labels[noisy]))
    frame = pl.DataFrame(rows[:n_rows], schema=["premise", "hypothesis", "label"], orient="row")
    return frame.with_columns(text_digest(frame["premise"]).alias("group"))


def _reviews(product: str, seed: int, n_rows: int) -> pl.DataFrame:
    rng = np.random.default_rng([seed, *product.encode()])
    praise, blame, parts = _PRODUCTS[product]
    rows = []
    for number in range(n_rows):
        code = int(rng.integers(2))
        own, shared = (praise, _PRAISE) if code else (blame, _BLAME)
        other = blame if code else praise
        verdict = f"it {rng.choice(own)}" if rng.random() < 0.7 else str(rng.choice(shared))
        aside = (
            f"though it {rng.choice(other)} now and then"
            if rng.random() < 0.4
            else f"and the {rng.choice(parts)} is as shown"
        )
        text = f"{rng.choice(_OPENINGS)}, order {number + 100}: {verdict}, {aside}."
        label = SA.labels[int(rng.integers(2)) if rng.random() < LABEL_NOISE else code]
        rows.append((text, label))
    frame = pl.DataFrame(rows, schema=["text", "label"], orient="row")
    return frame.with_columns(text_digest(frame["text"]).alias("group"))


def _split(frame: pl.DataFrame, n_test: int) -> Splits:
    return {"test": frame.head(n_test), "train": frame.tail(len(frame) - n_test)}
