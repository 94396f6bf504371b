"""What an agent can be told; the codes are part of the protocol."""

from __future__ import annotations

from potato.errors import PotatoError


class TokenNotTaken(PotatoError):
    """No token, an unknown one, or one that was replaced."""

    code = "token_not_taken"
    status = 401

    def __init__(self) -> None:
        super().__init__(
            "This token is not taken here (any more)",
            hint="issue a new one on the server: potato training register BACKEND config.yaml",
        )


class ProtocolMismatch(PotatoError):
    """The agent speaks another version of the protocol."""

    code = "protocol_mismatch"
    status = 400

    def __init__(self, theirs: int, ours: int) -> None:
        super().__init__(
            f"The agent speaks version {theirs} of the agent protocol, and this server version {ours}",
            hint="install the same version of Potato on both sides",
        )


class BackendHeld(PotatoError):
    """Another agent serves this backend and was heard just now."""

    code = "backend_held"
    status = 409

    def __init__(self, backend: str, host: str, workdir: str, seconds: float) -> None:
        super().__init__(
            f"Another agent holds {backend}: {host}, in {workdir}, heard {seconds:.0f} seconds ago",
            hint="stop that one, or give this machine a backend of its own",
        )


class NotYourRun(PotatoError):
    """A run of another backend, or none at all: the answer does not tell which."""

    code = "not_your_run"
    status = 404

    def __init__(self) -> None:
        super().__init__("This token has no such run")


class RunIsOver(PotatoError):
    """Nothing more is taken of this run."""

    code = "run_is_over"
    status = 410

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run {run_id} is over; stop its worker and ask for the next")


class OldAttempt(PotatoError):
    """The piece belongs to an attempt that a newer one has replaced."""

    code = "old_attempt"
    status = 409

    def __init__(self, run_id: str, theirs: int, ours: int) -> None:
        super().__init__(f"Attempt {theirs} at run {run_id} is not the present one, which is {ours}")


class ServerNotReady(PotatoError):
    """The server has just started, and has not taken the run up again."""

    code = "not_ready"
    status = 503

    def __init__(self) -> None:
        super().__init__("The server is starting; ask again in a moment")


class WrongOffset(PotatoError):
    """A piece that lies past what the server holds."""

    code = "wrong_offset"
    status = 409

    def __init__(self, name: str, offset: int, length: int) -> None:
        super().__init__(f"{name} ends at {length} here, and the piece begins at {offset}")
        self.length = length

    def as_json(self) -> dict[str, object]:  # type: ignore[override]
        """With the length to go on from."""
        return {**super().as_json(), "length": self.length}


class Incomplete(PotatoError):
    """A result whose files are not whole here yet, or not the same."""

    code = "incomplete"
    status = 409

    def __init__(self, name: str, held: dict[str, int]) -> None:
        super().__init__(f"{name} is not whole here yet")
        self.held = held

    def as_json(self) -> dict[str, object]:  # type: ignore[override]
        """With the lengths to go on from."""
        return {**super().as_json(), "held": self.held}


class UnknownFile(PotatoError):
    """A name that no run has a file of."""

    code = "unknown_file"
    status = 404

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"There is no file {name!r:.100}; an agent sends {', '.join(known)}")


class NotStoredHere(PotatoError):
    """The server's disk did not take it; what is held is as it was, and the agent asks again."""

    code = "not_stored"
    status = 507

    def __init__(self, error: OSError) -> None:
        super().__init__(f"The server could not store it: {error.strerror or error}", hint="make room on its disk")


class PredictionsTooLarge(PotatoError):
    """The predictions pass `max_predictions_mb`."""

    code = "predictions_too_large"
    status = 413

    def __init__(self, limit_mb: int) -> None:
        super().__init__(
            f"The predictions are larger than {limit_mb} MB (max_predictions_mb)",
            hint="raise max_predictions_mb under model_training, or predict fewer items",
        )
