"""`hf-image-classification`: fine-tunes a vision transformer, or any image classifier of transformers, on images."""

from potato.training.trainers.base import Model, Param, Requirement, Task, Trainer, TrainerInfo
from potato.training.trainers.hf import base_model
from potato.training.trainers.hf.classification import CLASS_WEIGHT, Classifier, head
from potato.training.trainers.hf.images import Images
from potato.training.trainers.hf.loop import params
from potato.training.trainers.hf.setting_up import set_up
from potato.training.trainers.targets import check_trainable

_PARAMS = (
    Param(
        "base_model",
        "text",
        "google/vit-base-patch16-224-in21k",
        "The model to start from: a name on the Hugging Face Hub, or a folder (then nothing is downloaded).",
        folder=True,
    ),
    CLASS_WEIGHT,
    *params("1e-4"),
)


class HfImageClassification(Trainer):
    """A fine-tuned image classifier; see `info`."""

    info = TrainerInfo(
        name="hf-image-classification",
        summary="Fine-tunes an image classifier on the items' images; wants a GPU",
        kinds=("nominal", "multilabel"),
        modalities=("image",),
        requires=(
            Requirement("torch", "torch"),
            Requirement("transformers", "transformers>=4.46.0"),
            Requirement("PIL", "pillow"),
        ),
        licence="Apache-2.0 (transformers), BSD-3-Clause (torch), MIT-CMU (pillow); the base model has its own",
        params=_PARAMS,
        extra="train-image",
        fine_tunes=True,
        min_train_items=2,
    )

    def fit(self, task: Task) -> Model:
        check_trainable(task, self.info.min_train_items)
        set_up(task)
        processor, network = base_model.load(
            task, "AutoModelForImageClassification", reader="AutoImageProcessor", **head(task.schema)
        )
        model = Classifier(task, self.info, Images(task, processor), network)
        model.fit()
        return model
