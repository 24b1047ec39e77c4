"""What the dataset card says of a benchmark itself, read off its papers: citation, place in a taxonomy, Hub tags."""

DR = """@inproceedings{calderon-etal-2024-measuring,
  title = {Measuring the Robustness of {NLP} Models to Domain Shifts},
  author = {Calderon, Nitay and Porat, Naveh and Ben-David, Eyal and Chapanin, Alexander and Gekhman, Zorik and
            Oved, Nadav and Shalumov, Vitaly and Reichart, Roi},
  booktitle = {Findings of the Association for Computational Linguistics: EMNLP 2024},
  year = {2024},
  note = {arXiv:2306.00168}
}"""

BOSS = """@inproceedings{yuan-etal-2023-revisiting,
  title = {Revisiting Out-of-distribution Robustness in {NLP}: Benchmarks, Analysis, and {LLMs} Evaluations},
  author = {Yuan, Lifan and Chen, Yangyi and Cui, Ganqu and Gao, Hongcheng and Zou, Fangyuan and Cheng, Xingyi and
            Ji, Heng and Liu, Zhiyuan and Sun, Maosong},
  booktitle = {Advances in Neural Information Processing Systems, Datasets and Benchmarks Track},
  year = {2023},
  note = {arXiv:2306.04618}
}"""

DEPTH_F1 = """@misc{seegmiller-etal-2024-depth,
  title = {Depth {F}1: Improving Evaluation of Cross-Domain Text Classification by Measuring Semantic
           Generalizability},
  author = {Seegmiller, Parker and Gatto, Joseph and Preum, Sarah Masud},
  year = {2024},
  note = {arXiv:2406.14695}
}"""

GENBENCH = """@article{hupkes-etal-2023-taxonomy,
  title = {A taxonomy and review of generalization research in {NLP}},
  author = {Hupkes, Dieuwke and Giulianelli, Mario and Dankers, Verna and Artetxe, Mikel and Elazar, Yanai and
            Pimentel, Tiago and Christodoulopoulos, Christos and Lasri, Karim and Saphra, Naomi and Sinclair, Arabella
            and Ulmer, Dennis and Schottmann, Florian and Batsuren, Khuyagbaatar and Sun, Kaiser and Sinha, Koustuv
            and Khalatbari, Leila and Ryskina, Maria and Frieske, Rita and Cotterell, Ryan and Jin, Zhijing},
  journal = {Nature Machine Intelligence},
  volume = {5},
  number = {10},
  pages = {1161--1174},
  year = {2023}
}"""

PAPERS = {"dr": DR, "boss": BOSS}
"""BibTeX by benchmark."""

READ_OFF = {
    "dr": "sections 1, 3 and 5 and appendix D.2 of the Domain Robustness paper; its Table 11 has the authors' own",
    "boss": "sections 1 to 3 and appendix C.1 of the BOSS paper, which has no such table",
}
"""Where the categories below come from."""

TAXONOMY = {
    "dr": {
        "motivation": "practical: what a model loses when it is put to use on texts of another domain",
        "generalisation type": "cross domain, robustness",
        "shift type": "covariate, assumed: labels (for generation, target lengths) are kept alike between domains, "
        "while topic, and with it style and syntax, changes; `qa_imbalanced` shifts labels too",
        "shift source": "natural: domains are topics, genres or products of texts by people, none made to be hard",
        "shift locus": "finetune train-test for models trained on a source; pretrain-test for prompted ones",
    },
    "boss": {
        "motivation": "practical: performance on data other than what a model was trained on",
        "generalisation type": "cross domain (here: cross data set), robustness",
        "shift type": "full: covariate and concept shift together",
        "shift source": "natural for most data sets; some were collected or generated to be hard (such as `anli`, "
        "`advqa`, `dynasent`, `adv_civil`, `toxigen`)",
        "shift locus": "finetune train-test for models trained on the ID data set; pretrain-test for prompted ones",
    },
}
"""The categories of the GenBench taxonomy, by benchmark."""

TASK_IDS = {
    "sa": "sentiment-classification",
    "td": "hate-speech-detection",
    "nli": "natural-language-inference",
    "ner": "named-entity-recognition",
    "qa": "extractive-qa",
    "qa_imbalanced": "extractive-qa",
    "eqa": "extractive-qa",
}
"""The Hub's finer tags, by task; none where the Hub has no word for it."""

SUMMARIES = ("as", "tg")
"""Tasks whose category on the Hub is summarization rather than any text generation."""


def papers_to_cite(benchmark: str, *, depths: bool) -> list[str]:
    """Give the BibTeX of a benchmark's own papers, beside its sources'; none for data of one's own without depths."""
    papers = [PAPERS[benchmark]] if benchmark in PAPERS else []
    return papers + ([DEPTH_F1] if depths else [])
