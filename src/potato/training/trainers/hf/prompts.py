"""What a language model is asked, and what it is taught to answer: tokens, cut in the text and nowhere else."""

import re
from typing import Any, List, Optional, Sequence

from potato.training.contract.bundle import SchemaInfo
from potato.training.trainers.base import ParamError, Task, TrainerError

MOST_LISTED = 50
"""So many labels a prompt of ours lists; more would leave no room for the text, and the answers teach them anyway."""
LEAST_ROOM = 16
"""Tokens that must be left for an item's text."""

_ASKED = {
    "nominal": "{description}\nAnswer with one of: {labels}\n\nText:\n{text}\n\nAnswer:",
    "multilabel": "{description}\nDoes '{label}' apply? Answer yes or no.\n\nText:\n{text}\n\nAnswer:",
    "text": "{description}\n\nText:\n{text}\n\nAnswer:",
}
_FIELD = re.compile(r"\{(description|labels|label|text)\}")
_MARK = "\u241fTEXT\u241f"
"""Stands for the text while a chat template is filled in."""


def template(given: Optional[str], schema: SchemaInfo) -> str:
    """The prompt's template: the one given, or our own for the scheme's kind. Raises `ParamError` where it lacks what
    it must have."""
    if given is None:
        asked = _ASKED[schema.kind]
        return asked if len(schema.classes) <= MOST_LISTED else asked.replace("\nAnswer with one of: {labels}", "")
    for field in ("{text}", "{label}") if schema.kind == "multilabel" else ("{text}",):
        if field not in given:
            raise ParamError("param 'prompt' lacks %s, which a %s scheme needs" % (field, schema.kind))
    return given


class Prompts:
    """The prompts of one run. `max_length` bounds a prompt with its answer, in tokens; `longest_answer` is left free.

    A base model with a chat template is asked in it, as its user would, unless `plain`.
    """

    def __init__(self, task: Task, tokenizer: Any, max_length: int, plain: bool) -> None:
        self._schema = task.schema
        self._tokenizer = tokenizer
        self._max_length = max_length
        self.template = template(task.params["prompt"], task.schema)
        self.chat = bool(getattr(tokenizer, "chat_template", None)) and not plain
        if tokenizer.eos_token_id is None:
            raise TrainerError("the base model's tokenizer has no token that ends a text", "base_model")

    def question(self, text: str, longest_answer: int, label: Optional[str] = None) -> List[int]:
        """The prompt's tokens for a text, which is cut so that an answer of so many tokens fits behind it."""
        before, after = self._around(label)
        head, tail = self._tokens(before, special=not self.chat), self._tokens(after)
        room = self._max_length - longest_answer - len(head) - len(tail)
        if room < LEAST_ROOM:
            words = (
                "the prompt takes %d tokens without its text and the answer %d: raise max_length (%d) or shorten prompt"
            )
            raise TrainerError(words % (len(head) + len(tail), longest_answer, self._max_length), "prompt_too_long")
        return head + self.plain(text)[:room] + tail

    def answer(self, text: str) -> List[int]:
        """The tokens of an answer, its end included."""
        _, after = self._around("")
        lead = "" if self.chat or after[-1:].isspace() else " "
        return [*self.plain(lead + text), self._tokenizer.eos_token_id]

    def answers(self, texts: Sequence[str]) -> List[List[int]]:
        """The tokens of answers that must differ. Raises `TrainerError` where the tokenizer cannot tell two apart."""
        found = [self.answer(text) for text in texts]
        for number, tokens in enumerate(found):
            if tokens in found[:number]:
                other = texts[found.index(tokens)]
                words = "the base model's tokenizer cannot tell the labels '%s' and '%s' apart"
                raise TrainerError(words % (other, texts[number]), "base_model")
        return found

    def plain(self, text: str) -> List[int]:
        """The tokens of somebody's text: what looks like a control token in it is text too."""
        found: List[int] = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return found

    def _around(self, label: Optional[str]) -> List[str]:
        """The prompt before and after the text."""
        values = {
            "description": self._schema.description,
            "labels": ", ".join(self._schema.classes),
            "label": label or "",
            "text": _MARK,
        }
        asked = _FIELD.sub(lambda field: values[field.group(1)], self.template)
        if self.chat:
            turns = [{"role": "user", "content": asked}]
            asked = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        before, _, after = asked.partition(_MARK)
        return [before, after]

    def _tokens(self, text: str, special: bool = False) -> List[int]:
        found: List[int] = self._tokenizer(text, add_special_tokens=special)["input_ids"] if text else []
        return found
