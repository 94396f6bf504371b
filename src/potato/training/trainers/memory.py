"""Telling that memory ran out, whichever library says so."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` means that the machine or its GPU has no memory left."""
    if isinstance(error, MemoryError):
        return True
    if type(error).__name__ == "OutOfMemoryError":  # torch.cuda's, torch's own since 2.5
        return True
    if not isinstance(error, RuntimeError):
        return False
    text = str(error)
    return any(sign in text for sign in _SIGNS)


_SIGNS = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "CUDA out of memory",
    "MPS backend out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)
