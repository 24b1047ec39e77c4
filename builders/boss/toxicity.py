"""BOSS TD: comments of news readers; OOD comments made adversarial, implicitly hateful tweets, generated statements."""

import polars as pl

from builders.boss.steps import AS_UPSTREAM, LABELLED_TEXT, TEXT
from builders.folder.manifest import Provenance
from builders.readers.delimited import quoted_csv, raw_tsv
from builders.readers.parquet_rows import parquet_rows
from builders.readers.text_folder import listed_texts
from builders.readers.with_sibling import WithSibling
from builders.specs.balances import by_label
from builders.specs.spec import DomainSpec, Draw, FileSpec, SourceSpec, TaskSpec, Transform
from builders.specs.transforms import (
    clean_tweets,
    group_by,
    keep_filled,
    label_by_threshold,
    label_from,
    one_space,
    rename,
)
from validation.vocabulary import TaskKind

LABELS = ("benign", "toxic")

CIVIL_COMMENTS = SourceSpec(
    slug="civil_comments",
    title="Civil Comments (Jigsaw)",
    url="https://huggingface.co/datasets/google/civil_comments",
    revision="unversioned",
    licence="CC0",
    open_licence=True,
    citation=(
        "@inproceedings{borkan-etal-2019-nuanced,\n"
        "  title = {Nuanced Metrics for Measuring Unintended Bias with Real Data for Text Classification},\n"
        "  author = {Borkan, Daniel and Dixon, Lucas and Sorensen, Jeffrey and Thain, Nithum and Vasserman, Lucy},\n"
        "  booktitle = {Companion Proceedings of WWW},\n"
        "  year = {2019}\n"
        "}"
    ),
    instructions=(
        "download data/train-00000-of-00002.parquet, data/train-00001-of-00002.parquet and "
        "data/test-00000-of-00001.parquet of https://huggingface.co/datasets/google/civil_comments "
        "and put them into RAW/civil_comments/"
    ),
)
ADV_CIVIL = SourceSpec(
    slug="adv_civil",
    title="AdvCivil, the BOSS authors' adversarial version of Civil Comments",
    url="https://github.com/lifan-yuan/OOD_NLP",
    revision="2023",
    licence="none stated",
    open_licence=False,
    citation=(
        "@inproceedings{yuan-etal-2023-revisiting,\n"
        "  title = {Revisiting Out-of-distribution Robustness in {NLP}: Benchmarks, Analysis, and {LLM}s "
        "Evaluations},\n"
        "  author = {Yuan, Lifan and Chen, Yangyi and Cui, Ganqu and Gao, Hongcheng and Zou, Fangyuan and "
        "Cheng, Xingyi "
        "and Ji, Heng and Liu, Zhiyuan and Sun, Maosong},\n"
        "  booktitle = {Advances in NeurIPS, Datasets and Benchmarks},\n"
        "  year = {2023}\n"
        "}"
    ),
    instructions=(
        "take ToxicDetection/adv_civil/test.tsv of the authors' BOSS.zip (linked at "
        "https://github.com/lifan-yuan/OOD_NLP) as RAW/adv_civil/adv_civil.tsv; or make a split of that kind "
        "from Civil "
        "Comments with 'shiftbench attack', and have people look through it"
    ),
)
IMPLICIT_HATE = SourceSpec(
    slug="implicit_hate",
    title="Latent Hatred: implicit hate speech, stage 1",
    url="https://github.com/SALT-NLP/implicit-hate",
    revision="v1",
    licence="on request; no redistribution",
    open_licence=False,
    citation=(
        "@inproceedings{elsherief-etal-2021-latent,\n"
        "  title = {Latent Hatred: A Benchmark for Understanding Implicit Hate Speech},\n"
        "  author = {ElSherief, Mai and Ziems, Caleb and Muchlinski, David and Anupindi, Vaishnavi and Seybolt, "
        "Jordyn and "
        "De Choudhury, Munmun and Yang, Diyi},\n"
        "  booktitle = {Proceedings of EMNLP},\n"
        "  year = {2021}\n"
        "}"
    ),
    instructions=(
        "this data set is gated: fill in the form that https://github.com/SALT-NLP/implicit-hate links to, and put "
        "implicit_hate_v1_stg1_posts.tsv of the download at RAW/implicit_hate/implicit_hate_v1_stg1_posts.tsv"
    ),
)
TOXIGEN = SourceSpec(
    slug="toxigen",
    title="ToxiGen, annotated statements",
    url="https://huggingface.co/datasets/toxigen/toxigen-data",
    revision="unversioned",
    licence="on request; no redistribution",
    open_licence=False,
    citation=(
        "@inproceedings{hartvigsen-etal-2022-toxigen,\n"
        "  title = {{T}oxi{G}en: A Large-Scale Machine-Generated Dataset for Adversarial and Implicit Hate Speech "
        "Detection},\n"
        "  author = {Hartvigsen, Thomas and Gabriel, Saadia and Palangi, Hamid and Sap, Maarten and Ray, Dipankar and "
        "Kamar, Ece},\n"
        "  booktitle = {Proceedings of ACL},\n"
        "  year = {2022}\n"
        "}"
    ),
    instructions=(
        "this data set is gated: fill in the form at https://huggingface.co/datasets/toxigen/toxigen-data and put "
        "annotated/train-00000-of-00001.parquet and annotated/test-00000-of-00001.parquet into RAW/toxigen/annotated/"
    ),
)
ABUSE_ANALYZER = SourceSpec(
    slug="abuse_analyzer",
    title="AbuseAnalyzer: posts of Gab",
    url="https://github.com/mohit3011/AbuseAnalyzer",
    revision="unversioned",
    licence="none stated",
    open_licence=False,
    citation=(
        "@inproceedings{chandra-etal-2020-abuseanalyzer,\n"
        "  title = {{A}buse{A}nalyzer: Abuse Detection, Severity and Target Prediction for {G}ab Posts},\n"
        "  author = {Chandra, Mohit and Pathak, Ashwin and Dutta, Eesha and Jain, Paryul and Gupta, Manish and "
        "Shrivastava, Manish and Kumaraguru, Ponnurangam},\n"
        "  booktitle = {Proceedings of COLING},\n"
        "  year = {2020}\n"
        "}"
    ),
    instructions=(
        "put AbuseAnalyzer_Dataset.tsv of https://github.com/mohit3011/AbuseAnalyzer into RAW/abuse_analyzer/"
    ),
)
HATE_SPEECH = SourceSpec(
    slug="hate_speech",
    title="Hate Speech of a white supremacy forum (Stormfront)",
    url="https://github.com/Vicomtech/hate-speech-dataset",
    revision="b802137e8314",
    licence="CC BY-SA 3.0 ES",
    open_licence=True,
    citation=(
        "@inproceedings{de-gibert-etal-2018-hate,\n"
        "  title = {Hate Speech Dataset from a White Supremacy Forum},\n"
        "  author = {de Gibert, Ona and Perez, Naiara and Garc{\\'i}a-Pablos, Aitor and Cuadros, Montse},\n"
        "  booktitle = {Proceedings of the 2nd Workshop on Abusive Language Online},\n"
        "  year = {2018}\n"
        "}"
    ),
    instructions=(
        "put annotations_metadata.csv and the folder all_files of https://github.com/Vicomtech/hate-speech-dataset "
        "into RAW/hate_speech/"
    ),
)
HSOL = SourceSpec(
    slug="hsol",
    title="Hate speech and offensive language (HSOL)",
    url="https://github.com/t-davidson/hate-speech-and-offensive-language",
    revision="cb50f7e9eb85",
    licence="MIT",
    open_licence=True,
    citation=(
        "@inproceedings{davidson-etal-2017-automated,\n"
        "  title = {Automated Hate Speech Detection and the Problem of Offensive Language},\n"
        "  author = {Davidson, Thomas and Warmsley, Dana and Macy, Michael and Weber, Ingmar},\n"
        "  booktitle = {Proceedings of ICWSM},\n"
        "  year = {2017}\n"
        "}"
    ),
    instructions=(
        "put data/labeled_data.csv of https://github.com/t-davidson/hate-speech-and-offensive-language into "
        "RAW/hsol/data/"
    ),
)
OLID = SourceSpec(
    slug="olid",
    title="OLID 1.0: offensive tweets",
    url="https://sites.google.com/site/offensevalsharedtask/olid",
    revision="1.0",
    licence="none stated; to be cited",
    open_licence=False,
    citation=(
        "@inproceedings{zampieri-etal-2019-predicting,\n"
        "  title = {Predicting the Type and Target of Offensive Posts in Social Media},\n"
        "  author = {Zampieri, Marcos and Malmasi, Shervin and Nakov, Preslav and Rosenthal, Sara and Farra, Noura and "
        "Kumar, Ritesh},\n"
        "  booktitle = {Proceedings of NAACL-HLT},\n"
        "  year = {2019}\n"
        "}"
    ),
    instructions=(
        "unpack OLIDv1.0.zip of https://sites.google.com/site/offensevalsharedtask/olid into RAW/olid/, so that "
        "RAW/olid/OLIDv1.0/olid-training-v1.0.tsv exists"
    ),
)
_CIVIL_TRAIN_PER_LABEL = 30_000
_COMMENT = parquet_rows("text", "toxicity")

_CIVIL_COMMENTS = DomainSpec(
    name="civil_comments",
    files={
        "train": tuple(
            FileSpec(CIVIL_COMMENTS, f"civil_comments/train-0000{part}-of-00002.parquet", _COMMENT) for part in range(2)
        ),
        "test": (FileSpec(CIVIL_COMMENTS, "civil_comments/test-00000-of-00001.parquet", _COMMENT),),
    },
    transforms=(label_by_threshold("toxicity", 0.5, LABELS), LABELLED_TEXT, *TEXT),
    # Two files are drawn from, and both together cut.
    draw=Draw(_CIVIL_TRAIN_PER_LABEL, stratum=by_label(LABELS)),
    train_per_label=_CIVIL_TRAIN_PER_LABEL,
    provenance=Provenance(
        title="Civil Comments",
        text_sources=("Civil Comments",),
        breadth=24,
        paper_rows={"train": 60_000, "test": 97_320},
        differs="blank comments leave",
    ),
)
_ADV_CIVIL = DomainSpec(
    name="adv_civil",
    files={"test": (FileSpec(ADV_CIVIL, "adv_civil/adv_civil.tsv", raw_tsv("Text", "Label")),)},
    transforms=(
        label_from("Label", {"0": "benign", "1": "toxic"}),
        rename({"Text": "text", "label": "label"}),
        *TEXT,
    ),
    provenance=Provenance(
        title="AdvCivil",
        text_sources=("Adversarial",),
        challenge=True,
        made_from="Civil Comments",
        paper_rows={"test": 823},
    ),
)
_IMPLICIT_HATE = DomainSpec(
    name="implicit_hate",
    files={
        "test": (FileSpec(IMPLICIT_HATE, "implicit_hate/implicit_hate_v1_stg1_posts.tsv", raw_tsv("post", "class")),)
    },
    transforms=(
        label_from("class", {"not_hate": "benign", "implicit_hate": "toxic", "explicit_hate": "toxic"}),
        rename({"post": "text", "label": "label"}),
        *TEXT,
    ),
    provenance=Provenance(title="Implicit Hate", text_sources=("Twitter",), paper_rows={"test": 21_480}),
)
_TOXIGEN = DomainSpec(
    name="toxigen",
    files={
        split: (
            FileSpec(
                TOXIGEN,
                f"toxigen/annotated/{split}-00000-of-00001.parquet",
                parquet_rows("text", "toxicity_ai", "toxicity_human"),
            ),
        )
        for split in ("train", "test")
    },
    transforms=(
        Transform(
            "mean_toxicity",
            lambda frame: frame.with_columns(
                toxicity=pl.mean_horizontal(pl.col("toxicity_ai", "toxicity_human").cast(pl.Float64)).cast(pl.String)
            ),
        ),
        label_by_threshold("toxicity", 3, LABELS),
        LABELLED_TEXT,
        *TEXT,
    ),
    provenance=Provenance(
        title="ToxiGen",
        text_sources=("Synthetic",),
        breadth=13,
        challenge=True,
        paper_rows={"train": 8_960, "test": 940},
    ),
)

TD = TaskSpec(
    benchmark="boss",
    name="td",
    title="Toxicity: comments of news readers against adversarial, implicit and generated ones",
    kind=TaskKind.CLASSIFICATION,
    inputs=("text",),
    labels=LABELS,
    metric="accuracy",
    domains=(_CIVIL_COMMENTS, _ADV_CIVIL, _IMPLICIT_HATE, _TOXIGEN),
    as_upstream=True,
    id_domain="civil_comments",
    notes=(
        AS_UPSTREAM,
        "Only the train split of Civil Comments has equal labels; its texts are not cleaned beyond white "
        "space, as in the authors' code, and blank ones leave.",
        "Implicit Hate: all of its posts are test rows; implicit and explicit hate are toxic.",
        "AdvCivil is the authors' file where you have it; 'shiftbench attack' makes another one of that kind, which is "
        "not the same and does not compare with published scores.",
    ),
)

_ABUSE_ANALYZER = DomainSpec(
    name="abuse_analyzer",
    files={
        "train": (
            FileSpec(ABUSE_ANALYZER, "abuse_analyzer/AbuseAnalyzer_Dataset.tsv", raw_tsv("Post Text", "Hate/Non-Hate")),
        )
    },
    transforms=(
        label_from("Hate/Non-Hate", {"1": "benign", "2": "toxic"}),
        rename({"Post Text": "text", "label": "label"}),
        clean_tweets("text"),
        *TEXT,
    ),
    test_share=0.2,
    provenance=Provenance(
        title="AbuseAnalyzer",
        text_sources=("Grab",),
        paper_rows={"train": 6_080, "test": 1_520},
        differs="the paper's cut is not public; here a text is in one split only",
    ),
)
_HATE_SPEECH = DomainSpec(
    name="hate_speech",
    files={
        "train": (
            FileSpec(
                HATE_SPEECH,
                "hate_speech/annotations_metadata.csv",
                listed_texts("file_id", "label", folder="all_files"),
                beside=("all_files",),
            ),
        )
    },
    transforms=(
        # Sentences that stand for something only beside others (relation), and those not in English, leave.
        label_from("label", {"noHate": "benign", "hate": "toxic"}, ("relation", "idk/skip")),
        Transform(
            "post_of_sentence", lambda frame: frame.with_columns(post=pl.col("file_id").str.replace(r"_\d+$", ""))
        ),
        group_by("post"),
        rename({"text": "text", "label": "label", "group": "group"}),
        one_space("text"),
        keep_filled("text"),
    ),
    test_share=0.2,
    provenance=Provenance(
        title="Hate Speech",
        text_sources=("Stormfront",),
        paper_rows={"train": 8_562, "test": 2_141},
        differs="the paper's cut is not public; here the sentences of a post are in one split",
    ),
)
_HSOL = DomainSpec(
    name="hsol",
    files={"train": (FileSpec(HSOL, "hsol/data/labeled_data.csv", quoted_csv("class", "tweet")),)},
    transforms=(
        label_from("class", {"0": "toxic", "1": "toxic", "2": "benign"}),
        rename({"tweet": "text", "label": "label"}),
        *TEXT,
    ),
    test_share=0.3,
    provenance=Provenance(
        title="HSOL",
        text_sources=("Twitter",),
        paper_rows={"train": 5_823, "test": 2_485},
        differs="the paper has 8,308 of the 24,783 tweets and does not say which; here all of them",
    ),
)
_OLID_LABELS = "labels-levela.csv"
_OLID_TEST = WithSibling(
    read=quoted_csv("id", "tweet", separator="\t"),
    sibling=_OLID_LABELS,
    read_sibling=quoted_csv("id", "subtask_a", header=("id", "subtask_a")),
    on="id",
)
_OLID = DomainSpec(
    name="olid",
    files={
        "train": (
            FileSpec(OLID, "olid/OLIDv1.0/olid-training-v1.0.tsv", quoted_csv("tweet", "subtask_a", separator="\t")),
        ),
        "test": (FileSpec(OLID, "olid/OLIDv1.0/testset-levela.tsv", _OLID_TEST, beside=(_OLID_LABELS,)),),
    },
    transforms=(
        label_from("subtask_a", {"NOT": "benign", "OFF": "toxic"}),
        rename({"tweet": "text", "label": "label"}),
        clean_tweets("text"),
        *TEXT,
    ),
    provenance=Provenance(title="OLID", text_sources=("Twitter",), paper_rows={"train": 13_240, "test": 860}),
)
TD_CANDIDATES = TaskSpec(
    benchmark="boss",
    name="td_candidates",
    title="Toxicity: data sets that were candidates (Table 9)",
    kind=TaskKind.CLASSIFICATION,
    inputs=("text",),
    labels=LABELS,
    metric="accuracy",
    domains=(_ABUSE_ANALYZER, _HATE_SPEECH, _HSOL, _OLID),
    as_upstream=True,
    candidates_for="td",
    notes=("AbuseAnalyzer's and OLID's texts are cleaned of mentions, links, emoji and tags; the others' are not.",),
)
