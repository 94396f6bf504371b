"""Where the agent's token comes from: a file, or the environment; never the command line."""

import os
from typing import MutableMapping, Optional

VARIABLE = "POTATO_TRAINING_TOKEN"


class NoToken(Exception):
    """There is no usable token; the sentence says where it was looked for."""


def take_token(token_file: Optional[str], environment: MutableMapping[str, str]) -> str:
    """The token from `token_file`, or else from `POTATO_TRAINING_TOKEN`, which is gone from the environment then: no
    child of this process is to inherit it. Raises `NoToken`."""
    inherited = environment.pop(VARIABLE, "")
    if token_file is None:
        return _checked(inherited, "the environment variable " + VARIABLE)
    try:
        with open(os.path.expanduser(token_file), encoding="utf-8", errors="replace") as file:
            return _checked(file.read(4096), "the file " + token_file)
    except OSError as error:
        raise NoToken("the token file %s cannot be read: %s" % (token_file, error.strerror)) from error


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if not token:
        raise NoToken("%s holds no token; `potato training register` on the server prints one" % where)
    if not token.isascii() or not token.isprintable() or " " in token:
        raise NoToken("%s holds something that is no token; copy it again as it was printed" % where)
    return token
