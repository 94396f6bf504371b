"""A causal language model with a LoRA adapter: how surprised it is by an answer, what it says next, what it writes."""

import inspect
import os
from typing import Any, Dict, List, Sequence, Tuple

from potato.training.trainers.base import Task
from potato.training.trainers.hf import base_model, lora, quantization
from potato.training.trainers.hf.setting_up import Precision

Tokens = Sequence[int]


class Causal:
    """The tokenizer and the network of a run. Batches are padded on the left, so that answers end together."""

    def __init__(self, task: Task, precision: Precision) -> None:
        import torch

        self._task = task
        self._precision = precision
        self.quantization = quantization.choose(task)
        dtype = precision.dtype or torch.float32
        options = quantization.config(self.quantization, dtype)
        if options:
            options["device_map"] = {"": task.device}
        self.tokenizer, network = base_model.load(task, "AutoModelForCausalLM", options)
        self.longest = base_model.longest(task, self.tokenizer, network)
        task.check_stop()
        if options:
            quantization.keep_trainable(network)
        else:
            network = network.to(dtype).to(task.device)
        self.network = lora.add_to_causal(task, network, quantized=bool(options))
        takes = inspect.signature(type(network).forward).parameters
        self._takes_positions = "position_ids" in takes
        self._keep = next((name for name in ("logits_to_keep", "num_logits_to_keep") if name in takes), None)

    def surprise(self, pairs: Sequence[Tuple[Tokens, Tokens]]) -> Any:
        """For each question and its answer minus the log likelihood of the answer, summed over its tokens."""
        import torch
        from torch.nn import functional

        most = max(len(answer) for _, answer in pairs)
        batch = self._batch([list(question) + list(answer) for question, answer in pairs])
        logits = self._logits(batch, most + 1)[:, :-1]
        wanted = batch["input_ids"][:, -most:]
        losses = functional.cross_entropy(logits.transpose(1, 2), wanted, reduction="none")
        sizes = torch.tensor([len(answer) for _, answer in pairs], device=losses.device)
        places = torch.arange(most, device=losses.device)
        return (losses * (places >= most - sizes.unsqueeze(1))).sum(-1)

    def following(self, looks: Sequence[Tuple[Tokens, Tokens]]) -> List[List[float]]:
        """After each sequence of tokens the log probabilities of those that may follow, compared with one another."""
        import torch

        with torch.inference_mode(), self._precision.autocast():
            logits = self._logits(self._batch([list(tokens) for tokens, _ in looks]), 1)[:, -1].cpu()
        rows = [row[list(choices)].log_softmax(-1) for row, (_, choices) in zip(logits, looks)]
        return [row.tolist() for row in rows]

    def write(self, questions: Sequence[Tokens], most: int) -> List[str]:
        """What the model answers, the likeliest token each time, at most so many."""
        import torch
        from transformers import GenerationConfig, StoppingCriteriaList

        tokenizer = self.tokenizer
        how = GenerationConfig(
            max_new_tokens=most,
            do_sample=False,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        batch = self._batch([list(question) for question in questions])
        batch.pop("position_ids", None)
        with torch.inference_mode(), self._precision.autocast():
            found = self.network.generate(
                **batch, generation_config=how, stopping_criteria=StoppingCriteriaList([self._look])
            )
        answers = found[:, batch["input_ids"].shape[1] :]
        return [text.strip() for text in tokenizer.batch_decode(answers, skip_special_tokens=True)]

    def save(self, folder: str) -> None:
        """Write the adapter, or the whole model with it merged in, and the tokenizer."""
        if self._task.params["save"] == "adapter":
            self.network.save_pretrained(folder, save_embedding_layers=False)
        else:
            self._merged().save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def _merged(self) -> Any:
        """The plain model in full precision: the adapter of quantised weights goes onto the base model as it was."""
        if self.quantization == "none":
            return self.network.merge_and_unload()
        import peft

        adapter = os.path.join(self._task.artifact_dir, "adapter")
        self.network.save_pretrained(adapter, save_embedding_layers=False)
        _, whole = base_model.load(self._task, "AutoModelForCausalLM")
        return peft.PeftModel.from_pretrained(whole, adapter).merge_and_unload()

    def _batch(self, rows: Sequence[List[int]]) -> Dict[str, Any]:
        import torch

        self._task.check_stop()
        most, pad = max(map(len, rows)), self.tokenizer.pad_token_id
        ids = torch.tensor([[pad] * (most - len(row)) + row for row in rows], device=self._task.device)
        there = torch.tensor([[0] * (most - len(row)) + [1] * len(row) for row in rows], device=self._task.device)
        batch = {"input_ids": ids, "attention_mask": there}
        if self._takes_positions:
            batch["position_ids"] = (there.cumsum(-1) - 1).clamp(min=0)
        return batch

    def _logits(self, batch: Dict[str, Any], last: int) -> Any:
        """The logits of the last positions, in float32: computing those of all would take most of the memory."""
        more = {self._keep: last} if self._keep else {}
        return self.network(**batch, use_cache=False, **more).logits[:, -last:].float()

    def _look(self, input_ids: Any, scores: Any, **more: Any) -> Any:
        """Between two tokens: whether to stop is looked at; no answer ends by it."""
        import torch

        self._task.check_stop()
        return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)
