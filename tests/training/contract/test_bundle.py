"""Opening a bundle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobs import Item, write_bundle
from potato.training.contract.bundle import Bundle, BundleError, BundleItem, SchemaInfo


def test_a_bundle_is_read(tmp_path: Path) -> None:
    items = [Item("1", "a b", "train", {"s": "x"}), Item("2", "c\u2028d", "test", {"s": "y"}), Item("u", "", "predict")]
    bundle = Bundle(write_bundle(tmp_path, items, {"s": ("nominal", ["y", "x", "never used"])}))
    assert bundle.schemas["s"] == SchemaInfo("s", "nominal", ("y", "x", "never used"), ("x",), "")
    assert bundle.splits == {"train": 1, "val": 0, "test": 1, "predict": 1}
    assert list(bundle.items("test")) == [
        BundleItem("2", "c\u2028d", {}, {}, {"s": "y"}, {"s": [["y", 1]]}, {"s": 1}),
    ]
    assert list(bundle.items("predict")) == [BundleItem("u", "", {}, {}, {}, {}, {})]


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"format": 1}', '{"format": 9}', "null"])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(BundleError, match="bundle"):
        Bundle(str(tmp_path))


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "1"}', '{"id": "1", "text": "a'])
def test_a_line_that_is_no_item_is_named(tmp_path: Path, line: str) -> None:
    bundle = Bundle(write_bundle(tmp_path, [Item("1", "a", "train", {"s": "x"})], {"s": ("nominal", ["x"])}))
    good = json.dumps({"id": "1", "text": "a"})
    (tmp_path / "train.jsonl").write_text(good + "\n" + line + "\n")
    with pytest.raises(BundleError, match=r"train\.jsonl cannot be read at line 2"):
        list(bundle.items("train"))
