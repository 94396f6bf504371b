"""`sklearn-text`: TF-IDF over words and characters, and logistic regression. Seconds on a CPU, and hard to beat on
little data."""

import itertools
import os
import warnings
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

from potato.training.contract.bundle import BundleItem
from potato.training.contract.predictions import Prediction
from potato.training.trainers import provenance
from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerError, TrainerInfo
from potato.training.trainers.targets import check_trainable, decode, encode, figures, known, log_loss

STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0)
"""The values of C that are tried on val. Log loss chooses: accuracy ties between them on little data, and then the
confidences of a model that is held too tight say nothing."""
USUAL_STRENGTH = 3.0
ENOUGH_TO_CHOOSE = 20
"""With fewer val items their figures are chance, and the usual C is taken."""
BATCH = 512
LONGEST_TERM = 100
"""A longer term is no word but an address or a blob, and an array of terms is as wide as its longest."""

_PARAMS = (
    Param(
        "C",
        "float",
        None,
        "Inverse strength of the regularisation: higher fits the training items closer. "
        "Left out, the one of 0.3, 1, 3, 10 and 30 whose probabilities suit val best.",
        minimum=1e-4,
        maximum=1e4,
    ),
    Param(
        "class_weight",
        "choice",
        "balanced",
        "`balanced` counts rare labels as much as common ones; `none` counts every item alike.",
        choices=("balanced", "none"),
    ),
    Param("word_ngrams", "int", 2, "Longest run of words that is one feature; 0 leaves words out.", 0, 4),
    Param("char_ngrams", "int", 5, "Longest run of characters that is one feature; 0 leaves characters out.", 0, 8),
    Param("max_features", "int", 200000, "Keep the most frequent features only, of words and of characters each.", 10),
    Param("max_iter", "int", 1000, "Most steps of the solver.", 10),
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
        task.progress("training", 0, _rounds(task) + 1)
        features = _features(task)
        table = features.transform(_texts(task.train))
        task.progress("training", 1, _rounds(task) + 1)
        targets = _table(encode(task.train, task.schema), task.schema.kind)
        best: Optional[_TextModel] = None
        for number, strength in enumerate(_strengths(task), 1):
            task.check_stop()
            model = _TextModel(task, features, _trained(task, strength, table, targets), strength)
            model.measure(number)
            if best is None or (model.loss is not None and best.loss is not None and model.loss < best.loss):
                best = model
            task.progress("training", number + 1, _rounds(task) + 1)
        assert best is not None
        return best


class _TextModel(Model):
    """A pipeline from text to probabilities."""

    def __init__(self, task: Task, features: Any, classifier: Any, strength: float) -> None:
        from sklearn.pipeline import Pipeline

        self._task = task
        self._pipeline = Pipeline([("features", features), ("classifier", classifier)])
        self._strength = strength
        self._figures: Dict[str, float] = {}
        self.loss: Optional[float] = None

    def measure(self, step: int) -> None:
        """Take its figures on val and report them, and say so where the solver did not come to its end."""
        schema = self._task.schema
        items = known(self._task.val, schema)
        predictions = list(self.predict(items))
        self._figures = figures(predictions, items, schema)
        self.loss = log_loss(predictions, items, schema)
        if self.loss is not None:
            self._figures["loss"] = self.loss
        for name, value in self._figures.items():
            self._task.metric("val", name, value, step, C=self._strength)
        if _unfinished(self._pipeline.named_steps["classifier"], self._task.params["max_iter"]):
            self._task.log("warning", "the solver stopped at max_iter before it had converged (C %g)" % self._strength)

    def save(self, folder: str) -> None:
        import zipfile

        import skops.io

        path = os.path.join(folder, "model.skops")
        skops.io.dump(self._pipeline, path, compression=zipfile.ZIP_DEFLATED)
        # a label that every training item has is predicted by a type of scikit-learn's that skops wants named
        trusted = list(skops.io.get_untrusted_types(file=path))
        more = {"C": self._strength, "skops_trusted": trusted}
        provenance.write(folder, self._task, SklearnText.info, ("scikit-learn", "skops"), **more)

    def predict(self, items: Iterable[BundleItem]) -> Iterator[Prediction]:
        stream = iter(items)
        for batch in iter(lambda: list(itertools.islice(stream, BATCH)), []):
            self._task.check_stop()
            for item, outputs in zip(batch, self._probabilities(_texts(batch))):
                yield decode(item.id, self._task.schema, outputs)

    def metrics(self) -> Dict[str, float]:
        return dict({"val_" + name: value for name, value in self._figures.items()}, C=self._strength)

    def _probabilities(self, texts: List[str]) -> Iterator[List[float]]:
        """Each text's probabilities in the order of the scheme's classes, by the classifier's own list of them."""
        columns = self._pipeline.named_steps["classifier"].classes_.tolist()
        order = [columns.index(number) for number in range(len(self._task.schema.classes))]
        for row in self._pipeline.predict_proba(texts).tolist():
            yield [row[column] for column in order]


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


def _strengths(task: Task) -> Sequence[float]:
    if task.params["C"] is not None:
        return (task.params["C"],)
    return STRENGTHS if len(task.val) >= ENOUGH_TO_CHOOSE else (USUAL_STRENGTH,)


def _rounds(task: Task) -> int:
    return len(_strengths(task))


def _table(encoded: List[Any], kind: str) -> Any:
    """The targets as scikit-learn takes them. It takes a single column for one class or the other, so a lone label is
    given its opposite as a second, which nobody asks for."""
    import numpy

    table = numpy.asarray(encoded)
    return numpy.hstack([table, 1 - table]) if kind == "multilabel" and table.shape[1] == 1 else table


def _trained(task: Task, strength: float, table: Any, targets: Any) -> Any:
    with warnings.catch_warnings():
        # of no use to anybody: that label is then always predicted
        warnings.filterwarnings("ignore", message=".* is present in all training examples")
        return _classifier(task, strength).fit(table, targets)


def _classifier(task: Task, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    weight = None if task.params["class_weight"] == "none" else "balanced"
    model = LogisticRegression(
        C=strength, class_weight=weight, max_iter=task.params["max_iter"], random_state=task.seed
    )
    return OneVsRestClassifier(model) if task.schema.kind == "multilabel" else model


def _unfinished(classifier: Any, limit: int) -> bool:
    solvers = getattr(classifier, "estimators_", [classifier])
    return any(max(getattr(solver, "n_iter_", [0])) >= limit for solver in solvers)
