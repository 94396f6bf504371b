"""What people answered with and without a run's suggestions."""

from __future__ import annotations

from pathlib import Path

from makers import SENTIMENT, TOPICS, small
from potato.store.training.suggestion_use import Use, use_of


def test_answers_are_counted_by_what_was_shown_and_what_was_hidden(tmp_path: Path) -> None:
    said = {"run_id": "r1", "model_version": "v", "payload": "positive", "confidence": 0.9}
    answered = [
        ("positive", said),
        ("negative", said),
        ("positive", {**said, "hidden": True}),
        ("positive", {**said, "hidden": True}),
        ("negative", {**said, "hidden": True}),
        ("positive", {**said, "run_id": "r2"}),
        ("positive", None),
    ]
    with small(tmp_path, len(answered), annotation_schemes=[SENTIMENT, TOPICS]) as project:
        ann = project.user("ann")
        for item, (answer, suggestion) in enumerate(answered, 1):
            shown = {} if suggestion is None else {"sentiment": suggestion}
            project.save(ann, item, {"sentiment": answer}, suggestions=shown, elapsed_ms=100 * item)
        schemes = project.project.schemes
        used = project.read(use_of, "r1", schemes)
        assert used == {"sentiment": Use(shown=2, accepted=1, hidden=3, agreed=2)}
        assert used["sentiment"].annotators == {"ann": Use(shown=2, accepted=1, hidden=3, agreed=2)}
        assert (used["sentiment"].median_ms(hidden=False), used["sentiment"].median_ms(hidden=True)) == (150, 400)
        assert project.read(use_of, "r2", schemes) == {"sentiment": Use(shown=1, accepted=1)}
        assert project.read(use_of, "r3", schemes) == {}
