"""The call `probe`: what an interpreter on this machine can train with."""

import json
import os
from typing import Any, Dict, Mapping

from potato.training.host import children
from potato.training.host.failures import CallFailed
from potato.training.host.interpreter import interpreter, with_code
from potato.training.host.session import Session

LIMIT_S = 120.0


def probe(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """The answer of `python -m potato.training.worker.probe`. Raises `CallFailed`."""
    python = interpreter(call.get("python"))
    command = [python, "-m", "potato.training.worker.probe", "--device", str(call.get("device") or "auto")]
    env = with_code(dict(os.environ, **{str(name): str(value) for name, value in dict(call.get("env") or {}).items()}))
    limit_s = float(call.get("limit_s") or LIMIT_S)
    done = children.run(session, command, "looking for what %s can train with" % python, limit_s, env)
    if done.code is None:
        raise CallFailed("probe_silent", "%s did not answer within %g seconds" % (python, limit_s))
    if done.code != 0:
        raise CallFailed("probe_failed", "%s could not look for its packages: %s" % (python, done.said[:500]))
    answer: Dict[str, Any] = json.loads(done.out.splitlines()[-1])
    return answer
