"""What is asked of the Hub, and its answers in Potato's words.

The token is passed with each call, is never kept anywhere else, and is taken out of whatever a library says.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from potato.errors import PotatoError
from potato.training.publishing.errors import (
    BadRepoName,
    CardRefused,
    HubFailed,
    HubNotInstalled,
    NoRights,
    NoToken,
    RepoInTheWay,
    TokenRefused,
)

PUBLIC_HUB = "https://huggingface.co"
OURS = "potato.json"
_EMPTY = frozenset({".gitattributes", "README.md"})
"""What a repository holds that was just made by hand."""


@dataclass(frozen=True)
class Repo:
    """A repository that is there."""

    private: bool
    revision: str | None
    names: frozenset[str]


@dataclass(frozen=True)
class Published:
    """Where the model is."""

    url: str
    revision: str
    public: bool


def check_name(repo: str) -> None:
    """Raise `BadRepoName` unless `repo` is a namespace and a name that the Hub takes."""
    with _installed():
        from huggingface_hub.errors import HFValidationError
        from huggingface_hub.utils import validate_repo_id
    if repo.count("/") != 1:
        raise BadRepoName(repo, "it has no namespace" if "/" not in repo else "it has more than one slash")
    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise BadRepoName(repo, str(error).partition(":")[0]) from None


def find_token() -> str:
    """The token of `HF_TOKEN` or of the login cache. Raises `NoToken`."""
    with _installed():
        from huggingface_hub import get_token
    token = get_token()
    if not token:
        raise NoToken
    return str(token)


class Hub:
    """The Hub at `endpoint`, `HF_ENDPOINT` by default, as the owner of `token`."""

    def __init__(self, token: str, endpoint: str | None = None) -> None:
        with _installed():
            from huggingface_hub import HfApi
            from huggingface_hub.utils import disable_progress_bars
        disable_progress_bars()
        self.endpoint = (endpoint or os.environ.get("HF_ENDPOINT") or PUBLIC_HUB).rstrip("/")
        self._token = token
        self._api = HfApi(endpoint=self.endpoint)

    def __repr__(self) -> str:
        return f"Hub({self.endpoint!r})"

    def check_rights(self, repo: str) -> None:
        """Raise `TokenRefused` or `NoRights` unless the token may write into the namespace of `repo`."""
        with self._told("asking who the token is for"):
            who = self._api.whoami(token=self._token)
        namespace, name = repo.split("/")[0], str(who.get("name"))
        roles = {str(org.get("name")): str(org.get("roleInOrg", "")) for org in who.get("orgs") or []}
        if namespace != name and namespace not in roles:
            raise NoRights(
                f"The account '{name}' is not '{namespace}', and is no member of it",
                hint=f"publish to {' or '.join([name, *roles])}, or use a token of a member",
            )
        if roles.get(namespace) == "read":
            raise NoRights(f"The account '{name}' may only read in '{namespace}'", hint="ask its admins for more")
        if not _may_write((who.get("auth") or {}).get("accessToken") or {}, namespace, repo):
            raise NoRights(
                f"The token of '{name}' may only read in '{namespace}'",
                hint="make one with the right to write at https://huggingface.co/settings/tokens",
            )

    def look(self, repo: str, public: bool) -> Repo | None:
        """The repository, where it exists. Raises `RepoInTheWay` where it should not be written to."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with self._told("looking for the repository"):
            try:
                info = self._api.model_info(repo, token=self._token)
            except RepositoryNotFoundError:
                return None
        there = Repo(bool(info.private), info.sha, frozenset(file.rfilename for file in info.siblings or []))
        if there.names - _EMPTY and OURS not in there.names:
            raise RepoInTheWay(
                f"The repository {repo} holds something that Potato did not write", hint="choose another name"
            )
        if not there.private and not public:
            raise RepoInTheWay(
                f"The repository {repo} is public, and the model was to be private",
                hint="choose another name, or publish publicly (--public)",
            )
        if there.private and public:
            raise RepoInTheWay(
                f"The repository {repo} is private, and the model was to be public",
                hint="leave --public out, or make the repository public in its settings on the Hub first",
            )
        return there

    def licence_of(self, base: str) -> str | None:
        """The licence that the Hub tells of a base model; None where it tells none, or there is no such model."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with self._told("asking for the base model's licence"):
            try:
                info = self._api.model_info(base, token=self._token)
            except RepositoryNotFoundError:
                return None
        licence = getattr(info.card_data, "license", None)
        return licence if isinstance(licence, str) and licence else None

    def check_card(self, text: str) -> None:
        """Raise `CardRefused` where the Hub would not take it."""
        from huggingface_hub.utils import build_hf_headers, get_session

        with self._told("checking the model card"):
            answer = get_session().post(
                f"{self.endpoint}/api/validate-yaml",
                json={"content": text, "repoType": "model"},
                headers=build_hf_headers(token=self._token),
            )
        problems = (answer.json() or {}).get("errors") or [] if answer.status_code == 400 else []
        if problems:
            raise CardRefused("; ".join(str(problem.get("message")) for problem in problems)[:500])
        if answer.status_code >= 400:
            raise HubFailed("checking the model card", f"it answered {answer.status_code}")

    def upload(
        self, repo: str, there: Repo | None, public: bool, files: Mapping[str, bytes | Path], message: str
    ) -> Published:
        """Make the repository hold exactly these files, in one commit; safe to repeat."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        gone = (there.names if there else frozenset()) - files.keys() - _EMPTY
        steps: list[Any] = [CommitOperationAdd(name, content) for name, content in files.items()]
        steps += [CommitOperationDelete(name, is_folder=False) for name in sorted(gone)]
        with self._told("uploading"):
            self._api.create_repo(repo, token=self._token, private=not public, exist_ok=True)
            done = self._api.create_commit(
                repo, steps, commit_message=message, token=self._token, parent_commit=there.revision if there else None
            )
        return Published(f"{self.endpoint}/{repo}", done.oid, public)

    @contextlib.contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """Turn what the library raises into one sentence, without the token in it or in what it came from."""
        try:
            yield
        except PotatoError:
            raise
        except Exception as error:  # a library's many errors, of two HTTP clients
            status = getattr(getattr(error, "response", None), "status_code", None)
            told = TokenRefused() if status == 401 else HubFailed(doing, self._reason(error, status))
        else:
            return
        raise told from None

    def _reason(self, error: Exception, status: int | None) -> str:
        said = [line.strip() for line in str(error).replace(self._token, "…").splitlines() if line.strip()]
        text = said[0][:300] if said else type(error).__name__
        return f"it answered {status}: {text}" if status else f"{type(error).__name__}: {text}"


def _may_write(token: Mapping[str, Any], namespace: str, repo: str) -> bool:
    """Whether a token's own rights, as far as the Hub tells them, reach."""
    if token.get("role") == "read":
        return False
    if token.get("role") != "fineGrained":
        return True
    scoped = (token.get("fineGrained") or {}).get("scoped") or []
    return any(
        "repo.write" in (scope.get("permissions") or [])
        and (scope.get("entity") or {}).get("name") in (namespace, repo)
        for scope in scoped
    )


@contextlib.contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise HubNotInstalled from error
