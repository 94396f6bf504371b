"""`sklearn-text`: TF-IDF over words and characters, and logistic regression. Seconds on a CPU, and hard to beat on
little data."""

import itertools
import os
from typing import Any, Dict, Iterable, Iterator, List, Sequence

from potato.training.contract.bundle import BundleItem
from potato.training.contract.predictions import Prediction
from potato.training.trainers import linear, provenance
from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerError, TrainerInfo
from potato.training.trainers.targets import check_trainable, decode

BATCH = 512
LONGEST_TERM = 100
"""A longer term is no word but an address or a blob, and an array of terms is as wide as its longest."""

_PARAMS = (
    *linear.PARAMS,
    Param("word_ngrams", "int", 2, "Longest run of words that is one feature; 0 leaves words out.", 0, 4),
    Param("char_ngrams", "int", 5, "Longest run of characters that is one feature; 0 leaves characters out.", 0, 8),
    Param("max_features", "int", 200000, "Keep the most frequent features only, of words and of characters each.", 10),
)


class SklearnText(Trainer):
    """A linear model over TF-IDF features; see `info`."""

    info = TrainerInfo(
        name="sklearn-text",
        summary="TF-IDF of words and characters with logistic regression: trains in seconds on a CPU",
        kinds=("nominal", "ordinal", "multilabel"),
        modalities=("text",),
        requires=(Requirement("sklearn", "scikit-learn>=1.0"), Requirement("skops", "skops>=0.9")),
        licence="BSD-3-Clause (scikit-learn)",
        params=_PARAMS,
        min_train_items=2,
    )

    def fit(self, task: Task) -> Model:
        check_trainable(task, self.info.min_train_items)
        steps = linear.rounds(task) + 1
        task.progress("training", 0, steps)
        features = _features(task)
        table = features.transform(_texts(task.train))
        val = _texts(linear.usable(task))
        task.progress("training", 1, steps)
        return _TextModel(task, features, linear.choose(task, table, features.transform(val) if val else None))


class _TextModel(Model):
    """A pipeline from text to probabilities."""

    def __init__(self, task: Task, features: Any, head: linear.Head) -> None:
        self._task = task
        self._features = features
        self._head = head

    def save(self, folder: str) -> None:
        from sklearn.pipeline import Pipeline

        pipeline = Pipeline([("features", self._features), ("classifier", self._head.classifier)])
        trusted = linear.save(pipeline, os.path.join(folder, "model.skops"))
        more = {"C": self._head.strength, "skops_trusted": trusted}
        provenance.write(folder, self._task, SklearnText.info, ("scikit-learn", "skops"), **more)

    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        stream = iter(items)
        for batch in iter(lambda: list(itertools.islice(stream, BATCH)), []):
            self._task.check_stop()
            rows = self._head.probabilities(self._features.transform(_texts(batch)))
            for item, outputs in zip(batch, rows):
                yield decode(item.id, self._task.schema, outputs)

    def metrics(self) -> Dict[str, float]:
        return self._head.metrics()


def _texts(items: Sequence[BundleItem]) -> List[str]:
    return [item.text or "" for item in items]


def _features(task: Task) -> Any:
    """The features of words and of characters, fitted, side by side. One that finds nothing (emoji hold no word) is
    left out."""
    from sklearn.pipeline import FeatureUnion

    texts = _texts(task.train)
    fitted = [(name, pipeline) for name, counter in _counters(task) for pipeline in _weighted(counter, texts, task)]
    if not fitted:
        raise TrainerError("the training items of '%s' hold no text to learn from" % task.schema.name, "no_text")
    return FeatureUnion(fitted)


def _counters(task: Task) -> Iterator[Any]:
    """A name and a counter of n-grams for each kind of feature that the params ask for."""
    from sklearn.feature_extraction.text import CountVectorizer

    words, letters, limit = (task.params[name] for name in ("word_ngrams", "char_ngrams", "max_features"))
    if words:
        pattern = r"(?u)\b\w+\b"  # unlike the default, a single letter is a word too: "I", "5"
        yield "words", CountVectorizer(ngram_range=(1, words), token_pattern=pattern, max_features=limit)
    if letters:
        shortest, rare = min(2, letters), 2 if len(task.train) >= 50 else 1
        yield (
            "characters",
            CountVectorizer(analyzer="char_wb", ngram_range=(shortest, letters), min_df=rare, max_features=limit),
        )


def _weighted(counter: Any, texts: List[str], task: Task) -> Iterator[Any]:
    """A fitted pipeline from text to TF-IDF; nothing where the texts hold nothing to count.

    The vocabulary is kept as an array, not as the dict that a fitted counter holds: skops writes a dict entry by
    entry, 43 MB and six seconds for 50,000 terms, and an array as one.
    """
    import numpy
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import Pipeline

    task.check_stop()
    try:
        counts = counter.fit_transform(texts)
    except ValueError as error:
        if "empty vocabulary" in str(error) or "no terms remain" in str(error):
            return
        raise
    terms = sorted(counter.vocabulary_, key=counter.vocabulary_.get)
    kept = [number for number, term in enumerate(terms) if len(term) <= LONGEST_TERM and "\0" not in term]
    if not kept:
        return
    counter.set_params(vocabulary=numpy.array([terms[number] for number in kept]), max_features=None, min_df=1)
    del counter.vocabulary_
    weights = TfidfTransformer(sublinear_tf=True).fit(counts[:, kept])
    yield Pipeline([("count", counter), ("weight", weights)])
