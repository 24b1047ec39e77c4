"""Upstream files for all of BOSS and its candidates in their exact formats, traps included. Every text is invented."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.boss import tag_maps
from shiftbench.builders.boss.sentiment import CATEGORIES

_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "larch")
MISSING = ("n/a", "null", "None", "NA")
"""Texts that pandas would read as missing."""


class Writer:
    """A writer of a file of each source; each text is made distinct by a running number."""

    def __init__(self, raw: Path) -> None:
        self.raw = raw
        self.rng = np.random.default_rng(0)
        self.number = 0

    def words(self, n_words: int = 6) -> list[str]:
        self.number += 1
        return [f"n{self.number}", *self.rng.choice(_WORDS, n_words - 1).tolist()]

    def text(self, n_words: int = 6) -> str:
        return " ".join(self.words(n_words))

    def path(self, place: str) -> Path:
        path = self.raw / place
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, place: str, content: str) -> None:
        self.path(place).write_bytes(content.encode())

    def json_lines(self, place: str, rows: list[dict[str, object]]) -> None:
        content = "".join(json.dumps(row) + "\n" for row in rows)
        if place.endswith(".gz"):
            self.path(place).write_bytes(gzip.compress(content.encode()))
        else:
            self.write(place, content)

    def all(self) -> None:
        """Write everything."""
        for source in (self.amazon, self.dynasent, self.semeval, self.sst, self.imdb, self.yelp, self.dsc):
            source()
        for source in (self.civil_comments, self.adv_civil, self.implicit_hate, self.toxigen):
            source()
        for source in (self.abuse_analyzer, self.hate_speech, self.hsol, self.olid):
            source()
        for source in (
            self.mnli,
            self.anli,
            self.contract_nli,
            self.wanli,
            self.snli,
            self.cb,
            self.bionli,
            self.docnli,
        ):
            source()
        for source in (self.few_nerd, self.conll, self.e_ner, self.wnut, self.crossner):
            source()
        for source in (self.squad, self.mrqa):
            source()

    def amazon(self) -> None:
        for at, category in enumerate(CATEGORIES):
            rows: list[dict[str, object]] = [
                {
                    "overall": float(1 + number % 5),
                    "reviewText": f"{self.text()}\ttab  two spaces",
                    "asin": f"B{at}-{number // 2}",
                }
                for number in range(20)
            ]
            rows.append({"overall": 5.0, "asin": "without a text"})
            rows += [{**rows[0], "asin": f"C{at}-{number}"} for number in range(5)]  # one text of many products
            rows.append({"overall": 5.0, "reviewText": "the same in all categories", "asin": f"D{at}"})
            self.json_lines(f"amazon_5core/{category}_5.json.gz", rows)

    def dynasent(self) -> None:
        for name in ("round01-yelp", "round02-dynabench"):
            for split in ("train", "test"):
                rows: list[dict[str, object]] = [
                    {"sentence": self.text(), "gold_label": ("positive", "negative", "neutral")[number % 3]}
                    for number in range(9)
                ]
                rows.append({"sentence": "one line\nand another", "gold_label": "neutral"})
                rows += [{"sentence": self.text(), "gold_label": label} for label in ("mixed", None)]
                self.json_lines(f"dynasent/dynasent-v1.1/dynasent-v1.1-{name}-{split}.jsonl", rows)

    def semeval(self) -> None:
        for split in ("train", "test"):
            rows = [
                f"{number}\t{('positive', 'negative', 'neutral')[number % 3]}\t{self.text()}\t" for number in range(9)
            ]
            rows.append(f'9\tneutral\t"{self.text()}, quoted ""twice"" and not undone"\t')
            rows.append(f"10\tpositive\tSat Jan 01\t{self.text()}\t")  # a stray date field
            rows.append(f"0\tnegative\t{rows[0].split(chr(9))[2]}\t")  # an id and text again, with another label
            self.write(f"semeval2017/twitter-2016{split}-A.txt", "\n".join(rows) + "\n")

    def sst(self) -> None:
        for split in ("train", "test"):
            rows = [f"({number % 5} (2 {self.words(1)[0]}) (2 (2 -LRB-) (2 film)))" for number in range(15)]
            self.write(f"sst/trees/{split}.txt", "\n".join(rows) + "\n")

    def imdb(self) -> None:
        with tarfile.open(self.path("imdb/aclImdb_v1.tar.gz"), "w:gz") as archive:
            for place in ("README", "train/unsup/0_0.txt"):
                self._add(archive, f"aclImdb/{place}", "not a review")
            for split in ("train", "test"):
                for label, stars in (("neg", 2), ("pos", 9)):
                    for number in range(4):
                        self._add(archive, f"aclImdb/{split}/{label}/{number}_{stars}.txt", f"{self.text()}<br />")

    def _add(self, archive: tarfile.TarFile, name: str, text: str) -> None:
        member = tarfile.TarInfo(name)
        member.size = len(text.encode())
        archive.addfile(member, io.BytesIO(text.encode()))

    def yelp(self) -> None:
        for split in ("train", "test"):
            rows = [f'"{1 + number % 5}","{self.text()} ""so"" said\\nnext, line"' for number in range(15)]
            self.write(f"yelp/yelp_review_full_csv/{split}.csv", "\n".join(rows) + "\n")

    def dsc(self) -> None:
        for split in ("train", "test"):
            rows = [f"{self.text()}\t{(1, -1)[number % 2]}" for number in range(8)]
            self.write(f"dsc/{split}.tsv", "\n".join(rows) + "\n")

    def parquet(self, place: str, columns: dict[str, list[object]]) -> None:
        pl.DataFrame(columns).write_parquet(self.path(place))

    def civil_comments(self) -> None:
        for place in ("train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"):
            texts: list[object] = [self.text() for _ in range(18)]
            toxicity: list[object] = [(0.0, 0.5, 0.49, 0.9, 0.1, 0.0)[number % 6] for number in range(18)]
            self.parquet(f"civil_comments/{place}.parquet", {"text": [*texts, " "], "toxicity": [*toxicity, 0.0]})

    def adv_civil(self) -> None:
        rows = ["Text\tLabel", *(f'"{self.text()}, ""so\tthey"" say, teh typo"\t{number % 2}' for number in range(8))]
        self.write("adv_civil/adv_civil.tsv", "\n".join(rows) + "\n")

    def implicit_hate(self) -> None:
        kinds = ("not_hate", "implicit_hate", "explicit_hate")
        rows = ["post\tclass", *(f'{self.text()} "open quote\t{kinds[number % 3]}' for number in range(9))]
        self.write("implicit_hate/implicit_hate_v1_stg1_posts.tsv", "\n".join(rows) + "\n")

    def toxigen(self) -> None:
        for split in ("train", "test"):
            columns: dict[str, list[object]] = {
                "text": [self.text() for _ in range(8)],
                "toxicity_ai": [1.0, 2.0, 5.0, 3.0, 1.0, 4.0, 2.9, 5.0],
                "toxicity_human": [1.0, 3.0, 1.0, 3.0, 4.9, 5.0, 3.0, 5.0],
            }
            self.parquet(f"toxigen/annotated/{split}-00000-of-00001.parquet", columns)

    def abuse_analyzer(self) -> None:
        rows = ["Post Text\tHate/Non-Hate\tTarget of Hate\tClass of Hate"]
        rows += [
            f"@usermention {self.text()} #topic# http://x.example/a 😀 [tag]\t{1 + number % 2}\t\t"
            for number in range(10)
        ]
        self.write("abuse_analyzer/AbuseAnalyzer_Dataset.tsv", "\r\n".join(rows) + "\r\n")

    def hate_speech(self) -> None:
        rows = ["file_id,user_id,subforum_id,num_contexts,label"]
        for post in range(10):
            for sentence in (1, 2):
                label = ("noHate", "hate", "relation", "idk/skip")[(post + sentence) % 4]
                self.write(f"hate_speech/all_files/{post}_{sentence}.txt", self.text())
                rows.append(f"{post}_{sentence},7,8,0,{label}")
        self.write("hate_speech/annotations_metadata.csv", "\n".join(rows) + "\n")

    def hsol(self) -> None:
        rows = [",count,hate_speech,offensive_language,neither,class,tweet"]
        rows += [
            f'{3 * number},3,0,3,0,{number % 3},"RT {self.text()}\nsecond line, ""quoted"""' for number in range(12)
        ]
        self.write("hsol/data/labeled_data.csv", "\n".join(rows) + "\n")

    def olid(self) -> None:
        rows = ["id\ttweet\tsubtask_a\tsubtask_b\tsubtask_c"]
        rows += [
            f'{number}\t"@USER ""{self.text()}"" URL"\t{("NOT", "OFF")[number % 2]}\tNULL\tNULL' for number in range(8)
        ]
        self.write("olid/OLIDv1.0/olid-training-v1.0.tsv", "\n".join(rows) + "\n")
        rows = ["id\ttweet", *(f"{number}\t{self.text()}" for number in range(6))]
        self.write("olid/OLIDv1.0/testset-levela.tsv", "\n".join(rows) + "\n")
        rows = [f"{number},{('NOT', 'OFF')[number % 2]}" for number in reversed(range(6))]
        self.write("olid/OLIDv1.0/labels-levela.csv", "\n".join(rows) + "\n")

    def _pairs(self, premise: str, hypothesis: str, label: str, labels: tuple[str, ...]) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = [
            {premise: self.text(), hypothesis: self.text(), label: labels[number % len(labels)]} for number in range(9)
        ]
        rows += [{premise: self.text(), hypothesis: text, label: labels[0]} for text in MISSING]
        rows.append(dict(rows[0]))  # a pair twice
        return rows

    def mnli(self) -> None:
        for split in ("train", "dev_matched"):
            rows = self._pairs("sentence1", "sentence2", "gold_label", _LABELS)
            rows += [{**rows[0], "gold_label": "-", "sentence2": "nobody agreed"}]
            self.json_lines(f"multinli_1.0/multinli_1.0_{split}.jsonl", rows)

    def snli(self) -> None:
        for split in ("train", "test"):
            rows = self._pairs("sentence1", "sentence2", "gold_label", _LABELS)
            rows += [{**rows[0], "gold_label": "-"}]
            self.json_lines(f"snli/snli_1.0/snli_1.0_{split}.jsonl", rows)

    def anli(self) -> None:
        for name in ("R1", "R2", "R3"):
            for split in ("train", "test"):
                rows = self._pairs("context", "hypothesis", "label", ("e", "n", "c"))
                self.json_lines(f"anli/anli_v1.0/{name}/{split}.jsonl", rows)

    def contract_nli(self) -> None:
        for split in ("train", "test"):
            choices = ("Entailment", "NotMentioned", "Contradiction")
            documents = [
                {
                    "id": number,
                    "file_name": f"{split}{number}.pdf",
                    "text": f"{self.text(30)}\n{self.text(20)}",
                    "annotation_sets": [
                        {
                            "annotations": {
                                f"nda-{at}": {"choice": choices[(number + at) % 3], "spans": []} for at in range(17)
                            }
                        }
                    ],
                }
                for number in range(2)
            ]
            labels = {f"nda-{at}": {"short_description": "d", "hypothesis": f"Clause {at} holds."} for at in range(17)}
            self.write(
                f"contract_nli/contract-nli/{split}.json", json.dumps({"documents": documents, "labels": labels})
            )

    def wanli(self) -> None:
        for split in ("train", "test"):
            rows = self._pairs("premise", "hypothesis", "gold", _LABELS)
            self.json_lines(f"wanli/data/wanli/{split}.jsonl", [{**row, "pairID": 3} for row in rows])

    def cb(self) -> None:
        for split in ("train", "val"):
            self.json_lines(f"cb/CB/{split}.jsonl", self._pairs("premise", "hypothesis", "label", _LABELS))

    def bionli(self) -> None:
        for split in ("train", "dev"):
            rows = [",abstract,conclusion,label_cat"]
            for number in range(9):
                kind = ("pos", "neg_swap", "neg_polarity")[number % 3]
                rows.append(f'{number},"{self.text()}, <re>MAPK<er>","<le>A<el> {self.text()}",{kind}')
            self.write(f"bionli/{split}_df_blnc.csv", "\n".join(rows) + "\n")

    def docnli(self) -> None:
        for split in ("train", "test"):
            rows = self._pairs("premise", "hypothesis", "label", ("entailment", "not_entailment"))
            self.write(f"docnli/{split}.json", json.dumps(rows))

    def tokens(self, place: str, sentences: list[list[str]], *, blank: str = "", end: str = "\n") -> None:
        """Write sentences of ready lines, and blank lines at the end."""
        lines = [line for sentence in sentences for line in (*sentence, blank)]
        self.write(place, end.join([*lines, "", ""]))

    def few_nerd(self) -> None:
        for split in ("train", "test"):
            sentences = [
                [
                    *(f"{word}\tO" for word in self.words(2)),
                    f"{self.words(1)[0]}\tperson-actor",
                    f"{self.words(1)[0]}\tperson-actor",
                    f"{self.words(1)[0]}\tperson-athlete",
                    f"{self.words(1)[0]}\tother-law",
                    ".\tO",
                ]
                for _ in range(6)
            ]
            self.tokens(f"few_nerd/supervised/{split}.txt", sentences)

    def conll(self) -> None:
        for file in ("eng.train", "eng.testb"):
            sentences = []
            for number in range(6):
                if number % 3 == 0:
                    sentences.append(["-DOCSTART- -X- O O"])
                first, second = self.words(2)
                sentences.append(
                    [f"{first} NNP I-NP I-PER", f"{second} NNP I-NP B-PER", ". . O O", "UN NNP I-NP I-ORG"]
                )
            self.tokens(f"conll2003/{file}", sentences)

    def e_ner(self) -> None:
        sentences = []
        for number in range(6):
            if number % 3 == 0:
                sentences.append(["-DOCSTART- O"])
            sentences.append(
                [
                    f"{self.words(1)[0]} I-ORG",
                    "Inc I-ORG",
                    '""","""' + " O",
                    '"""1,000""" O',
                    "\u0097 O",
                    "Ann I-PER",
                    "Bo B-PER",
                ]
            )
        self.tokens("e_ner/edgar_all_4.csv", sentences, end="\r\n")

    def wnut(self) -> None:
        for file, blank in (("wnut17train.conll", "\t"), ("emerging.test.annotated", "")):
            sentences = [
                [f"{self.words(1)[0]}\tO", "My\tB-creative-work", "Film\tI-creative-work", "IO\tB-group"]
                for _ in range(6)
            ]
            sentences[3] = sentences[2]  # a sentence twice
            self.tokens(f"wnut17/{file}", sentences, blank=blank)

    def crossner(self) -> None:
        kinds = list(tag_maps.CROSSNER)
        for domain in ("ai", "literature", "music", "politics", "science"):
            for split in ("train", "test"):
                sentences = [[f"{self.words(1)[0]}\tO", f"x\tB-{kind}", f"y\tI-{kind}"] for kind in kinds]
                self.tokens(f"crossner/ner_data/{domain}/{split}.txt", sentences)

    def squad(self) -> None:
        for place in (
            *(f"squad_v1/{split}-v1.1.json" for split in ("train", "dev")),
            *(f"advqa/aqa_v1.0/combined/{split}.json" for split in ("train", "dev")),
            *(f"squadshifts/{name}_v1.0.json" for name in ("nyt", "reddit", "amazon_reviews")),
        ):
            articles = []
            for number in range(2):
                words = self.words(10)
                context = " ".join(words)
                answers = [{"text": word, "answer_start": context.index(word)} for word in (words[0], words[0])]
                qas = [{"id": f"{place}{number}-{at}", "question": self.text(), "answers": answers} for at in range(4)]
                articles.append({"title": f"Title_%C3%A9_{number}", "paragraphs": [{"context": context, "qas": qas}]})
            self.write(place, json.dumps({"version": "1.1", "data": articles}))

    def mrqa(self) -> None:
        for file in ("NewsQA", "SearchQA", "HotpotQA", "NaturalQuestionsShort", "TriviaQA-web"):
            for folder in ("train", "dev"):
                rows: list[dict[str, object]] = []
                if file != "TriviaQA-web":
                    rows.append({"header": {"dataset": file, "split": folder}})
                for number in range(3):
                    words = self.words(12)
                    context = "[TLE] News [PAR] " + " ".join(words)
                    start = context.index(words[0])
                    answer = {
                        "text": words[0],
                        "char_spans": [[start, start + len(words[0]) - 1]],  # the last character is in the span
                        "token_spans": [[4, 4]],
                    }
                    qas = [
                        {
                            "qid": f"{number}-{at}",
                            "question": self.text(),
                            "answers": [words[0]],
                            "detected_answers": [answer],
                        }
                        for at in range(2)
                    ]
                    rows.append({"id": str(number), "context": context, "qas": qas})
                self.json_lines(f"mrqa/{folder}/{file}.jsonl.gz", rows)


_LABELS = ("entailment", "neutral", "contradiction")
