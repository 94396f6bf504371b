"""LoRA: train small matrices beside the frozen weights (Hu et al. 2021), by peft."""

from typing import Any, List, Tuple

from potato.training.trainers.base import Param, Task, TrainerError

PARAMS = (
    Param("lora_rank", "int", 16, "Width of the adapter's matrices.", 1, 512),
    Param("lora_dropout", "float", 0.05, "Share of the adapter's inputs left out at random while training.", 0, 0.9),
)


def add(task: Task, model: Any) -> Any:
    """`model` with adapters on every linear layer of its body, and its head trained in full."""
    import peft

    targets, head = _parts(model)
    config = peft.LoraConfig(
        r=task.params["lora_rank"],
        lora_alpha=2 * task.params["lora_rank"],
        lora_dropout=task.params["lora_dropout"],
        target_modules=targets,
        modules_to_save=head,
        bias="none",
    )
    return peft.get_peft_model(model, config)


def add_to_causal(task: Task, model: Any, quantized: bool) -> Any:
    """A causal `model` with adapters on every linear layer but its output; what it was stays frozen."""
    import peft

    often = task.params["gradient_checkpointing"]
    if quantized:
        model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=often)
    elif often:
        model.gradient_checkpointing_enable()
        model.enable_input_require_grads()
    config = peft.LoraConfig(
        r=task.params["lora_rank"],
        lora_alpha=2 * task.params["lora_rank"],
        lora_dropout=task.params["lora_dropout"],
        target_modules="all-linear",
        bias="none",
        task_type="CAUSAL_LM",
    )
    return peft.get_peft_model(model, config)


def merge(model: Any, adapter_folder: str) -> Any:
    """Write the adapter alone into `adapter_folder`, and return the plain model with it merged in."""
    model.save_pretrained(adapter_folder)
    return model.merge_and_unload()


def _parts(model: Any) -> Tuple[List[str], List[str]]:
    """The full names of the body's linear layers, and the names of what stands beside the body: the head."""
    import torch

    body = getattr(model, "base_model_prefix", "")
    layers = [
        name
        for name, module in model.named_modules()
        if name.startswith(body + ".") and isinstance(module, torch.nn.Linear)
    ]
    if not body or not layers:
        raise TrainerError("the base model has no linear layers to adapt; take `method: full`", "base_model")
    head = [name for name, child in model.named_children() if name != body and any(True for _ in child.parameters())]
    return layers, head
