"""The model that fine-tuning starts from: by hub name, or a folder, and then without the network."""

import os
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from potato.training.trainers.base import Task, TrainerError
from potato.training.trainers.memory import is_out_of_memory


def load(
    task: Task,
    auto_class: str,
    options: Optional[Mapping[str, Any]] = None,
    reader: str = "AutoTokenizer",
    **config: Any,
) -> Tuple[Any, Any]:
    """What reads the inputs (`transformers.<reader>`) and the model `transformers.<auto_class>` of the param
    `base_model`, in float32 on the CPU.

    `config` are fields of the model's configuration, such as `num_labels`. With `options` for `from_pretrained` the
    model is left in the numbers and on the device that they ask for. Raises `TrainerError` with a sentence where there
    is no such model, it cannot be read, or it is of no use for this task.
    """
    name = task.params["base_model"].strip()
    where = _where(name)
    import transformers

    task.check_stop()
    transformers.utils.logging.disable_progress_bar()
    task.log("info", "loading the base model %s" % name)
    try:
        settings = transformers.AutoConfig.from_pretrained(name, **config, **where)
        inputs = getattr(transformers, reader).from_pretrained(name, **where)
        kind = getattr(transformers, auto_class)
        model, told = kind.from_pretrained(
            name, config=settings, ignore_mismatched_sizes=True, output_loading_info=True, **where, **(options or {})
        )
    except ImportError:
        raise
    except Exception as error:  # a library's own error says nothing of what the admin wrote
        if is_out_of_memory(error):
            raise
        raise TrainerError(
            "the base model '%s' cannot be loaded: %s" % (name, _first_line(error)), "base_model"
        ) from error
    _check_weights(name, model, set(told["missing_keys"]), heads=auto_class != "AutoModelForCausalLM")
    if reader == "AutoTokenizer":
        _have_padding(inputs, model)
    return inputs, model if options else model.float()


def longest(task: Task, tokenizer: Any, model: Any) -> int:
    """The most tokens of a text that are read: `max_length`, or less where the base model takes no more."""
    limits: List[int] = [task.params["max_length"]]
    if tokenizer.model_max_length < 10**6:  # a tokenizer that knows no limit says 10**30
        limits.append(tokenizer.model_max_length)
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions:
        offset = 2 if getattr(model.config, "model_type", "") in _OFFSET_BY_TWO else 0
        limits.append(positions - offset)
    return min(limits)


_OFFSET_BY_TWO = ("roberta", "xlm-roberta", "camembert", "longformer", "mpnet")
"""Model types whose positions begin at 2."""


def provenance(name: str, model: Any) -> Dict[str, Any]:
    """What a model folder records of its base."""
    return {"base_model": name, "base_model_type": getattr(model.config, "model_type", "")}


def _where(name: str) -> Dict[str, Any]:
    """How to load it: a folder is read without the network. Raises `TrainerError` for a folder that is none."""
    if os.path.isdir(name):
        os.environ["HF_HUB_OFFLINE"] = "1"  # before huggingface_hub is imported: it reads this once
        if not os.path.isfile(os.path.join(name, "config.json")):
            raise TrainerError("the base model folder '%s' holds no config.json" % name, "base_model")
        return {"local_files_only": True}
    if not name:
        raise TrainerError("param 'base_model' is empty; it takes a hub name or a folder", "base_model")
    if name.startswith(("/", "./", "../", "~")) or name.count("/") > 1:
        raise TrainerError("the base model folder '%s' does not exist" % name, "base_model")
    return {}


def _check_weights(name: str, model: Any, missing: Set[str], heads: bool) -> None:
    """Raise `TrainerError` where what is loaded is not what was learned: transformers fills in what it does not find
    with chance. A new head (`heads`) is meant to be filled so."""
    prefix = getattr(model, "base_model_prefix", "") + "."
    names = list(model.state_dict())
    body = [one for one in names if one.startswith(prefix)] or names
    lost = missing.intersection(body) if heads else missing
    if lost and (not heads or 2 * len(lost) > len(body)):
        raise TrainerError(
            "the base model '%s' is of another kind: it lacks %d of the %d weights that this trainer needs"
            % (name, len(lost), len(body) if heads else len(names)),
            "base_model",
        )


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return text if len(text) <= 300 else text[:300] + "…"


def _have_padding(tokenizer: Any, model: Any) -> None:
    """Give a tokenizer without a padding token one: models that were made to write text have none."""
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    if tokenizer.pad_token is None:
        raise TrainerError("the base model's tokenizer has no token to pad with", "base_model")
    model.config.pad_token_id = tokenizer.pad_token_id
