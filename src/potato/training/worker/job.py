"""One job, from the bundle to the result: for each scheme fit, save, predict."""

import os
import platform
import tempfile
import warnings
from typing import Any, Dict, Iterator, List

from potato.training.contract.bundle import Bundle, BundleError, BundleItem, SchemaInfo
from potato.training.contract.events import EventWriter
from potato.training.contract.spec import Spec, SpecError
from potato.training.trainers import registry
from potato.training.trainers.base import Model, Task, Trainer
from potato.training.worker.artifacts import Artifacts
from potato.training.worker.devices import Device, resolve
from potato.training.worker.packages import require
from potato.training.worker.predictions import PredictionsFile
from potato.training.worker.stop import Stop

PREDICTED_SPLITS = ("val", "test", "predict")


class Job:
    """What a spec asks for, done in `folder`. `run` raises whatever ends it early."""

    def __init__(self, spec: Spec, folder: str, events: EventWriter, stop: Stop) -> None:
        self._spec = spec
        self._folder = folder
        self._events = events
        self._stop = stop
        self._notes: List[str] = []

    def run(self) -> None:
        """Everything, in order; the last thing is the `result` event."""
        trainer = registry.get(self._spec.trainer)
        params = trainer.info.parse_params(self._spec.params)
        self._events.status("running", "reading the bundle", host=platform.node())
        bundle = Bundle(self._spec.bundle)
        schemas = self._schemas(bundle, trainer)
        require(trainer.info)
        device = resolve(trainer.info, self._spec.device)
        for warning in device.warnings:
            self._events.log("warning", warning)
        self._events.status("running", "training on %s" % device.text, device=device.described)
        warnings.simplefilter("default")
        self._train_all(trainer, params, bundle, schemas, device)

    def _schemas(self, bundle: Bundle, trainer: Trainer) -> List[SchemaInfo]:
        for name in self._spec.schemas:
            if name not in bundle.schemas:
                raise BundleError("the bundle has no scheme '%s'; it has %s" % (name, ", ".join(bundle.schemas)))
            kind = bundle.schemas[name].kind
            if kind not in trainer.info.kinds:
                kinds = ", ".join(trainer.info.kinds)
                raise SpecError("trainer '%s' takes %s, and '%s' is %s" % (trainer.info.name, kinds, name, kind))
        if not self._spec.schemas:
            raise SpecError("the spec names no scheme to train")
        return [bundle.schemas[name] for name in self._spec.schemas]

    def _train_all(
        self, trainer: Trainer, params: Dict[str, Any], bundle: Bundle, schemas: List[SchemaInfo], device: Device
    ) -> None:
        version = "%s@%s" % (trainer.info.name, self._spec.run_id)
        artifacts = Artifacts(os.path.join(self._folder, "artifacts"), self._events.artifact)
        metrics: Dict[str, Dict[str, float]] = {}
        with PredictionsFile(os.path.join(self._folder, "predictions.jsonl")) as predictions:
            for number, schema in enumerate(schemas, 1):
                with tempfile.TemporaryDirectory(prefix=".scratch-", dir=self._folder) as scratch:
                    task = self._task(trainer, params, bundle, schema, device, scratch)
                    metrics[schema.name] = self._train(trainer, task, number, bundle, artifacts, predictions)
        self._events.result(
            status="success",
            metrics=metrics,
            model_version=version,
            label_order={schema.name: list(schema.classes) for schema in schemas},
            predictions_file="predictions.jsonl",
            predictions_sha256=predictions.sha256,
            predictions_bytes=predictions.size,
            n_predictions=predictions.count,
            device=device.described,
            notes=self._notes,
        )

    def _train(
        self,
        trainer: Trainer,
        task: Task,
        number: int,
        bundle: Bundle,
        artifacts: Artifacts,
        predictions: PredictionsFile,
    ) -> Dict[str, float]:
        """Fit, save, predict one scheme; the trainer's own figures."""
        name = task.schema.name
        self._events.status("running", "training '%s' with %s" % (name, trainer.info.name))
        model = trainer.fit(task)
        self._events.status("running", "saving the model of '%s'" % name)
        artifacts.save(name, number, model)
        self._events.status("running", "predicting '%s'" % name)
        self._predict(model, bundle, task.schema, predictions)
        self._notes.extend(model.notes())
        return model.metrics()

    def _task(
        self,
        trainer: Trainer,
        params: Dict[str, Any],
        bundle: Bundle,
        schema: SchemaInfo,
        device: Device,
        scratch: str,
    ) -> Task:
        def metric(split: str, name: str, value: float, step: int, **fields: Any) -> None:
            self._events.metric(split, name, value, step, scheme=schema.name, **fields)

        return Task(
            schema=schema,
            train=self._labelled(bundle, "train", schema.name),
            val=self._labelled(bundle, "val", schema.name),
            params=params,
            seed=self._spec.seed,
            device=device.name,
            artifact_dir=scratch,
            run_id=self._spec.run_id,
            project=bundle.project,
            bundle_digest=bundle.digest,
            num_threads=self._spec.num_threads,
            should_stop=self._stop,
            progress=self._events.progress,
            metric=metric,
            log=self._events.log,
            media_dir=bundle.media_dir,
            judged=_judged(bundle, schema.name) if trainer.info.calibrates_live else (),
        )

    def _labelled(self, bundle: Bundle, split: str, schema: str) -> List[BundleItem]:
        return [item for item in _whole(bundle, split) if schema in item.targets]

    def _predict(self, model: Model, bundle: Bundle, schema: SchemaInfo, predictions: PredictionsFile) -> None:
        total = sum(bundle.splits[split] for split in PREDICTED_SPLITS)
        items = (item for split in PREDICTED_SPLITS for item in _whole(bundle, split))
        phase = "predicting '%s'" % schema.name
        for done, prediction in enumerate(model.predict(items), 1):
            predictions.add(prediction)
            self._events.progress(phase, done, total)
            self._stop.check()


def _judged(bundle: Bundle, schema: str) -> List[BundleItem]:
    """The unlabelled items whose answer by the live model a reviewer has judged."""
    return [item for item in _whole(bundle, "predict") if "verdict" in item.said.get(schema, {})]


def _whole(bundle: Bundle, split: str) -> Iterator[BundleItem]:
    """A split's items. Raises `BundleError` at its end where the manifest promised another number."""
    count = 0
    for item in bundle.items(split):
        count += 1
        yield item
    if count != bundle.splits[split]:
        promised = bundle.splits[split]
        raise BundleError("the bundle's %s.jsonl holds %d items; its manifest says %d" % (split, count, promised))
