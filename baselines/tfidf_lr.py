"""TF-IDF + logistic regression: weights of words and word pairs, no pretraining.

In a pair of texts (NLI), the same word in the premise and in the hypothesis is two features. Nothing is tuned:
scikit-learn's defaults are used, except for the number of iterations.

    shiftbench train tfidf-lr nli --data build/dr --out tfidf.parquet
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines.program import RunOptions, make_card, run_alone, train_runs, with_options, write_results
from shiftbench.baselines.runs import FittedClassifier, require_two_labels
from shiftbench.validation.report import InvalidInput, Problem


def classifier(train: pl.DataFrame, inputs: tuple[str, ...], seed: int) -> FittedClassifier:
    """Train a logistic regression on TF-IDF weights of rows with ``label``; InvalidInput without labels or words."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    require_two_labels(train)
    vectorizers = {name: TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True) for name in inputs}
    try:
        blocks = [vectorizer.fit_transform(train[name].to_list()) for name, vectorizer in vectorizers.items()]
    except ValueError as error:  # scikit-learn raises no more specific error for an empty vocabulary
        what, cure = "every word occurs in only one train text", "use a source with more train rows"
        raise InvalidInput(Problem(what, "--source", f"{len(train):,} rows", cure)) from error
    model = LogisticRegression(max_iter=1000, random_state=seed)
    model.fit(hstack(blocks).tocsr(), train["label"].to_numpy())

    def probabilities(rows: pl.DataFrame) -> NDArray[np.float64]:
        features = hstack([vectorizer.transform(rows[name].to_list()) for name, vectorizer in vectorizers.items()])
        return np.asarray(model.predict_proba(features.tocsr()))

    return FittedClassifier(model.classes_, probabilities)


@with_options
def main(runs: RunOptions) -> None:
    """Train logistic regression on words and word pairs.

    Example: shiftbench train tfidf-lr nli --data build/dr --out tfidf.parquet
    """
    folder = runs.open_folder()
    inputs = folder.task(runs.task).inputs
    results = train_runs(lambda run: classifier(run.train, inputs, run.seed).predict, folder, runs)
    about = {"name": "TF-IDF + LR", "family": "bag-of-words", "paradigm": "fine-tuned", "licence": "Apache-2.0"}
    card = make_card(folder, libraries=["scikit-learn"], tuning_trials=1, **about)
    write_results(results, card, runs.out)


if __name__ == "__main__":
    run_alone(main)
