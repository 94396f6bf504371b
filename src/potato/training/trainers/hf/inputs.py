"""What a transformer reads of an item."""

from typing import Any, Dict, List, Protocol, Sequence

from potato.training.contract.bundle import BundleItem


class Inputs(Protocol):
    """Makes examples of items, and batches of examples. An example is small; what is large is read for its batch."""

    def of_items(self, items: Sequence[BundleItem]) -> List[Any]:
        """An example for each item."""

    def length(self, example: Any) -> int:
        """How long an example is: examples of similar length are put into a batch."""

    def batch(self, examples: Sequence[Any]) -> Any:
        """What the network takes, on the run's device. Raises `Cancelled` when the run is to stop."""

    def save(self, folder: str) -> None:
        """Write what reads the inputs beside the model, so that its library loads both."""

    def facts(self) -> Dict[str, Any]:
        """What a model folder records of how inputs are read."""
