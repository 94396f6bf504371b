"""Texts in batches of similar length, so that little of a batch is padding."""

import itertools
import random
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple, TypeVar

from potato.training.trainers.base import Task
from potato.training.trainers.memory import is_out_of_memory

S = TypeVar("S")
T = TypeVar("T")

POOL = 16
"""Batches among which items are sorted by length."""


def shuffled(lengths: Sequence[int], batch_size: int, seed: int) -> List[List[int]]:
    """The positions 0..n-1 in batches: in random order, each batch of similar length."""
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    order = list(range(len(lengths)))
    chance.shuffle(order)
    pool = batch_size * POOL
    batches: List[List[int]] = []
    for start in range(0, len(order), pool):
        similar = sorted(order[start : start + pool], key=lambda position: lengths[position])
        batches += [similar[first : first + batch_size] for first in range(0, len(similar), batch_size)]
    chance.shuffle(batches)
    return batches


def batched(stream: Iterable[S], size: int) -> Iterator[List[S]]:
    """The stream in lists of `size`, the last one shorter."""
    iterator = iter(stream)
    return iter(lambda: list(itertools.islice(iterator, size)), [])


def mapped(
    items: Iterable[Any],
    encode: Callable[[List[Any]], List[T]],
    length: Callable[[T], int],
    compute: Callable[[List[T]], List[Any]],
    sizes: "Halving",
) -> Iterator[Tuple[Any, Any]]:
    """Each item with what `compute` makes of it, in order; computed in batches of similar length, a pool at a time."""
    for pool in batched(items, sizes.size * POOL):
        encoded = encode(pool)
        yield from zip(pool, _computed(encoded, length, compute, sizes))


def _computed(
    encoded: Sequence[T], length: Callable[[T], int], compute: Callable[[List[T]], List[Any]], sizes: "Halving"
) -> List[Any]:
    """What `compute` makes of each, in order."""
    order = sorted(range(len(encoded)), key=lambda position: length(encoded[position]))
    answers: List[Any] = [None] * len(encoded)
    done = 0
    while done < len(order):
        some = order[done : done + sizes.size]
        outputs = sizes.attempt(compute, [encoded[position] for position in some])
        if outputs is None:
            continue
        for position, output in zip(some, outputs):
            answers[position] = output
        done += len(some)
    return answers


class Halving:
    """A batch size that halves itself when memory runs out, down to one item."""

    def __init__(self, task: Task, size: int, what: str) -> None:
        self._task = task
        self._what = what
        self.size = size

    def attempt(self, compute: Callable[[S], T], argument: S) -> Optional[T]:
        """What `compute` makes of `argument`; None where memory ran out, after halving `size`: then try again.

        Raises `MemoryError` where not even one item fits.
        """
        try:
            return compute(argument)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            detail = str(error).strip().splitlines()[:1]
        # outside the handler, so that the error no longer holds the frames whose tensors fill the memory
        _release()
        if self.size == 1:
            raise MemoryError("not even one item fits while %s%s" % (self._what, ": " + detail[0] if detail else ""))
        self.size //= 2
        self._task.log("warning", "out of memory while %s: going on with batches of %d" % (self._what, self.size))
        return None


def _release() -> None:
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
