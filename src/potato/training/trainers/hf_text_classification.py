"""`hf-text-classification`: fine-tunes a transformer on texts, its weights in full or a LoRA adapter."""

from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerInfo
from potato.training.trainers.hf import base_model, lora
from potato.training.trainers.hf.classification import CLASS_WEIGHT, METHOD, Classifier, head
from potato.training.trainers.hf.loop import params
from potato.training.trainers.hf.setting_up import set_up
from potato.training.trainers.hf.texts import Texts
from potato.training.trainers.targets import check_trainable

_PARAMS = (
    Param(
        "base_model",
        "text",
        "distilbert-base-uncased",
        "The model to start from: a name on the Hugging Face Hub, or a folder (then nothing is downloaded).",
        folder=True,
    ),
    METHOD,
    Param("max_length", "int", 256, "Tokens of a text that are read; the rest is cut off.", 8, 8192),
    CLASS_WEIGHT,
    *params("1e-4 for `full` and 1e-3 for `lora`"),
    *lora.PARAMS,
)


class HfTextClassification(Trainer):
    """A fine-tuned transformer with a classification (or regression) head; see `info`."""

    info = TrainerInfo(
        name="hf-text-classification",
        summary="Fine-tunes a transformer, in full or by LoRA: best scores from some hundred labels on; wants a GPU",
        kinds=("nominal", "multilabel", "ordinal", "continuous"),
        modalities=("text",),
        requires=(
            Requirement("torch", "torch"),
            Requirement("transformers", "transformers>=4.46.0"),
            Requirement("peft", "peft>=0.13.0"),
        ),
        licence="Apache-2.0 (transformers, peft), BSD-3-Clause (torch); the base model has its own",
        params=_PARAMS,
        extra="train-text",
        fine_tunes=True,
        min_train_items=2,
    )

    def fit(self, task: Task) -> Model:
        check_trainable(task, self.info.min_train_items)
        set_up(task)
        tokenizer, network = base_model.load(task, "AutoModelForSequenceClassification", **head(task.schema))
        texts = Texts(task, tokenizer, network)
        model = Classifier(task, self.info, texts, network)
        texts.say_what_is_cut(texts.of_items(task.train))
        model.fit()
        return model
