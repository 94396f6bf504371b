"""How a published model is loaded, by the trainer that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SKLEARN = """\
import skops.io
from huggingface_hub import hf_hub_download

file = hf_hub_download("{repo}", "model.skops")
model = skops.io.load(file, trusted={trusted})
print(model.predict_proba(["Some text."]))"""

_EMBEDDING = """\
import skops.io
from huggingface_hub import hf_hub_download
from sentence_transformers import SentenceTransformer

head = skops.io.load(hf_hub_download("{repo}", "head.skops"), trusted={trusted})
vectors = SentenceTransformer("{repo}").encode(["Some text."])
print(head.predict_proba(vectors))"""

_PIPELINE = """\
from transformers import pipeline

classify = pipeline("{task}", model="{repo}")
print(classify({example}))"""

_REWARD = """\
from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{repo}")
model = AutoModelForSequenceClassification.from_pretrained("{repo}")
print(model(**tokenizer("Some text.", return_tensors="pt")).logits)  # the higher of two texts is preferred"""

_CAUSAL = """\
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{repo}")
model = AutoModelForCausalLM.from_pretrained("{repo}")  # potato.json holds the prompt that it was taught with"""

_COLUMNS = "The columns of the output are the `classes` of `potato.json`, in their order."


@dataclass(frozen=True)
class Way:
    """What the Hub is told of a kind of model, and how a person loads it."""

    library: str
    task: str
    code: str
    packages: str
    note: str = ""
    example: str = '"Some text."'

    def snippet(self, repo: str, record: Mapping[str, Any]) -> str:
        """The Python that loads the model of `repo`."""
        return self.code.format(
            repo=repo, task=self.task, example=self.example, trusted=list(record.get("skops_trusted") or [])
        )


_TEXT = Way("transformers", "text-classification", _PIPELINE, "transformers torch")

_WAYS = {
    "sklearn-text": Way("sklearn", "text-classification", _SKLEARN, "scikit-learn skops huggingface_hub", _COLUMNS),
    "text-embedding": Way(
        "sentence-transformers", "text-classification", _EMBEDDING, "sentence-transformers scikit-learn skops", _COLUMNS
    ),
    "hf-text-classification": _TEXT,
    "hf-token-classification": Way("transformers", "token-classification", _PIPELINE, "transformers torch"),
    "hf-pairwise-preference": Way("transformers", "text-classification", _REWARD, "transformers torch"),
    "hf-image-classification": Way(
        "transformers", "image-classification", _PIPELINE, "transformers torch pillow", example='"image.jpg"'
    ),
    "llm-finetune": Way("transformers", "text-generation", _CAUSAL, "transformers torch peft"),
}


def way_of(trainer: str) -> Way | None:
    """How a model of that trainer is loaded; None for a third party's, which its own documentation tells."""
    return _WAYS.get(trainer)
