"""Base weights in 8 or 4 bits, by bitsandbytes (Dettmers et al. 2023, "QLoRA"), where the machine can."""

import importlib.util
from typing import Any, Dict, Optional

from potato.training.trainers.base import PackageNeeded, Param, Task, TrainerError

PACKAGE = "bitsandbytes>=0.45"

PARAM = Param(
    "quantization",
    "choice",
    "auto",
    "How the frozen base weights are held: `none` in full, `8bit` or `4bit` (NF4) in a quarter or an eighth of the "
    "memory. `auto`: 4 bits on a GPU that can, else in full.",
    choices=("auto", "none", "8bit", "4bit"),
)


def choose(task: Task) -> str:
    """`none`, `8bit` or `4bit`, of which this machine is capable. Raises `PackageNeeded` or `TrainerError` where the
    one that was asked for cannot be had."""
    wanted: str = task.params["quantization"]
    if wanted == "none" or (wanted == "auto" and not task.device.startswith("cuda")):
        return "none"
    bits = "4bit" if wanted == "auto" else wanted
    reason = _why_not(bits, task.device)
    if reason is None:
        return bits
    if wanted == "auto":
        task.log("info", "the base weights are held in full: %s" % reason)
        return "none"
    if importlib.util.find_spec("bitsandbytes") is None:
        raise PackageNeeded(reason, PACKAGE)
    raise TrainerError(
        "this machine cannot hold weights in %s: %s. Take quantization: auto or none" % (bits, reason),
        "no_quantization",
    )


def config(bits: str, dtype: Any) -> Dict[str, Any]:
    """What `from_pretrained` is told; nothing for `none`. `dtype` is what is computed in."""
    if bits == "none":
        return {}
    from transformers import BitsAndBytesConfig

    if bits == "8bit":
        return {"quantization_config": BitsAndBytesConfig(load_in_8bit=True)}
    four = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
    )
    return {"quantization_config": four}


def keep_trainable(network: Any) -> None:
    """Keep bitsandbytes from packing a layer's weights for inference when val is looked at on a CPU: a packed layer
    passes no gradient on, so that training would go on wrongly and say nothing."""
    for module in network.modules():
        if getattr(module, "support_avx512bf16_for_cpu", False):
            module.support_avx512bf16_for_cpu = False


def _why_not(bits: str, device: str) -> Optional[str]:
    """Why a small layer cannot compute that way here; None where it can."""
    if importlib.util.find_spec("bitsandbytes") is None:
        return "No module named 'bitsandbytes'"
    if device == "mps":
        return "bitsandbytes does not compute on Apple's Metal"
    import torch

    try:
        import bitsandbytes

        kind = bitsandbytes.nn.Linear4bit if bits == "4bit" else bitsandbytes.nn.Linear8bitLt
        more = {"quant_type": "nf4"} if bits == "4bit" else {"has_fp16_weights": False}
        layer = kind(64, 64, bias=False, **more).to(device)
        layer(torch.ones(2, 64, device=device, dtype=torch.bfloat16 if bits == "4bit" else torch.float16))
    except Exception as error:  # a library that is built for another machine fails in its own many ways
        text = str(error).strip().splitlines()
        return "%s: %.200s" % (type(error).__name__, text[0] if text else "")
    return None
