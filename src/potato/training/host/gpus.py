"""The call `gpus`: which GPUs there are, which of them a run gets, and the variables that show it those alone."""

import os
from dataclasses import asdict
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from potato.training.host import kernels, marks, smi
from potato.training.host.failures import CallFailed
from potato.training.host.session import Session
from potato.training.host.smi import Gpu, Seen

CPU = "no GPU: training on the CPU"
HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def gpus(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """Choose for a run, or for nobody where `run_id` is not given. Raises `CallFailed`, which carries `gpus` too."""
    wanted = str(call.get("gpus") or "auto")
    if wanted == "none":
        return _answer(Seen(), [], "no GPU is wanted: training on the CPU")
    pinned = [] if wanted == "auto" else [int(index) for index in wanted.split(",")]
    seen = smi.look(session, float(call.get("limit_s") or smi.LIMIT_S))
    seen = _of_this_account(seen) if not pinned else _at_least(seen, pinned)
    seen, detail = _tried(session, call, seen)
    try:
        with marks.Marks(session.remote_dir, call.get("run_id")) as taken:
            free = taken.of_others(seen.gpus)
            if pinned:
                chosen = _pinned(seen, pinned, detail)
            else:
                chosen = taken.mine(free) or _best(seen, free, detail, int(call.get("min_free_mb") or 0))
            taken.put(chosen)
    except CallFailed as failed:
        failed.more.update(gpus=[_as_json(gpu) for gpu in seen.gpus], reason=seen.reason or None)
        raise
    return _answer(seen, chosen, " and ".join(gpu.text for gpu in chosen) or CPU)


def _of_this_account(seen: Seen) -> Seen:
    """What `CUDA_VISIBLE_DEVICES` leaves of it, where the account's own environment sets that."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    if shown is None:
        return seen
    names = [name.strip() for name in shown.split(",") if name.strip()]
    left = [gpu for gpu in seen.gpus if any(_names(name, gpu) for name in names)]
    return Seen(left, seen.reason or ("" if left else "CUDA_VISIBLE_DEVICES there is %r" % shown))


def _names(name: str, gpu: Gpu) -> bool:
    return name == str(gpu.index) or (not name.isdigit() and gpu.uuid.startswith(name))


def _at_least(seen: Seen, indices: Sequence[int]) -> Seen:
    """Where nvidia-smi lists nothing, the GPUs that are named are taken to be there; torch may know better."""
    return seen if seen.gpus else Seen([Gpu(index, "", "not in nvidia-smi's list") for index in indices], seen.reason)


def _tried(session: Session, call: Mapping[str, Any], seen: Seen) -> Tuple[Seen, str]:
    """The GPUs marked by what the run's torch can do with them, and a sentence on that torch."""
    python = call.get("python")
    if not python or not seen.gpus:
        return seen, ""
    limit_s = float(call.get("torch_limit_s") or kernels.LIMIT_S)
    tried = kernels.try_out(session, os.path.expanduser(str(python)), seen.gpus, limit_s)
    return Seen([tried.mark(gpu) for gpu in seen.gpus], seen.reason), tried.detail


def _best(seen: Seen, free: Sequence[Gpu], detail: str, min_free_mb: int) -> List[Gpu]:
    """The GPU with the most free memory; one whose memory is unknown comes last. None on a machine without any."""
    if not seen.gpus:
        return []
    if all(gpu.mark for gpu in seen.gpus):
        raise _none_usable(seen.gpus, detail)
    usable = [gpu for gpu in free if not gpu.mark]
    roomy = [gpu for gpu in usable if gpu.free_mb is None or gpu.free_mb >= min_free_mb]
    if not roomy:
        raise _none_free(seen, usable, min_free_mb)
    return [max(roomy, key=lambda gpu: (-1 if gpu.free_mb is None else gpu.free_mb, -gpu.index))]


def _pinned(seen: Seen, indices: Sequence[int], detail: str) -> List[Gpu]:
    """These, whatever their free memory."""
    chosen: List[Gpu] = []
    for index in indices:
        gpu = next((gpu for gpu in seen.gpus if gpu.index == index and gpu not in chosen), None)
        if gpu is None:
            there = ", ".join(str(gpu.index) for gpu in seen.gpus)
            hint = "the GPUs there are %s; set gpus to one of them, or to auto" % there
            raise CallFailed("no_such_gpu", "There is no GPU %d" % index, hint)
        chosen.append(gpu)
    if all(gpu.mark for gpu in chosen):
        raise _none_usable(chosen, detail)
    return chosen


def _none_usable(gpus: Sequence[Gpu], detail: str) -> CallFailed:
    if all(gpu.mark == kernels.NO_KERNELS for gpu in gpus):
        hint = "%s. Install a matching torch, take another host, or set gpus: none to train on the CPU" % detail
        return CallFailed("no_kernels", "This host's torch has no kernels for any of its GPUs", hint)
    told = ", ".join("GPU %d %s" % (gpu.index, gpu.mark) for gpu in gpus)
    hint = "mend that, take another host, or set gpus: none to train on the CPU"
    return CallFailed("no_gpu_usable", "None of this host's GPUs can be used: %s" % told, hint)


def _none_free(seen: Seen, usable: Sequence[Gpu], min_free_mb: int) -> CallFailed:
    told = []
    for gpu in seen.gpus:
        if gpu.mark:
            told.append("GPU %d %s" % (gpu.index, gpu.mark))
        elif gpu not in usable:
            told.append("GPU %d is taken by another run" % gpu.index)
        else:
            told.append("GPU %d has %d MB" % (gpu.index, gpu.free_mb or 0))
    hint = '%s; wait, lower min_free_gpu_mb, or pin one with gpus: "%d"' % (", ".join(told), seen.gpus[0].index)
    return CallFailed("no_gpu_free", "No GPU has %d MB free" % min_free_mb, hint)


def _answer(seen: Seen, chosen: Sequence[Gpu], text: str) -> Dict[str, Any]:
    return {
        "gpus": [_as_json(gpu) for gpu in seen.gpus],
        "chosen": [gpu.id for gpu in chosen],
        "text": text,
        "env": kernels.visible(chosen) if chosen else dict(HIDDEN),
        "reason": seen.reason or None,
    }


def _as_json(gpu: Gpu) -> Dict[str, Any]:
    names = ("index", "uuid", "name", "free_mb", "total_mb", "utilisation", "mark")
    whole = asdict(gpu)
    return {name: whole[name] for name in names}
