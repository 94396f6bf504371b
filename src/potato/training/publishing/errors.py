"""What keeps a model from being published. Nothing was uploaded wherever one of these is raised by a check."""

from __future__ import annotations

from potato.errors import PotatoError


class CannotPublish(PotatoError):
    """The run has no model here that could be published; the sentence says why."""

    code = "cannot_publish"
    status = 409


class ModelElsewhere(CannotPublish):
    """The model's files, or some of them, are on the machine that trained it."""

    code = "model_elsewhere"

    def __init__(self, run_id: str, where: str, copy_again: bool) -> None:
        fetch = (
            "fetch_artifacts and max_artifact_mb of the backend decide what comes home; run it again with them changed"
        )
        again = "press Copy the model again on the run's page first"
        super().__init__(
            f"The model of run {run_id} stayed on another machine ({where}); "
            "only files on this server can be published",
            hint=again if copy_again else fetch,
        )


class SchemeNeeded(PotatoError):
    """The run trained several models, and one repository holds one."""

    code = "scheme_needed"
    status = 400

    def __init__(self, schemes: str) -> None:
        super().__init__(f"The run has a model for each of {schemes}; say which one is to be published")


class BadRepoName(PotatoError):
    """No name of a repository on the Hub."""

    code = "bad_repo_name"
    status = 400

    def __init__(self, repo: str, reason: str) -> None:
        super().__init__(
            f"{repo!r:.150} is no name of a repository: {reason}",
            hint="write it as ORG/NAME or USER/NAME, with letters, digits, '-', '_' and '.'",
        )


class HubNotInstalled(PotatoError):
    """The package that speaks to the Hub is missing."""

    code = "hub_not_installed"
    status = 409

    def __init__(self) -> None:
        super().__init__(
            "Publishing needs the package huggingface_hub, which is not installed on the server",
            hint="pip install 'potato-annotation[hub]', and start the server again",
        )


class NoToken(PotatoError):
    """There is no token to show to the Hub."""

    code = "no_hub_token"
    status = 409

    def __init__(self) -> None:
        super().__init__(
            "There is no token for the Hugging Face Hub",
            hint="set HF_TOKEN where the server is started, or log in with `hf auth login` as the server's user",
        )


class TokenRefused(PotatoError):
    """The Hub does not take the token."""

    code = "hub_token_refused"
    status = 409

    def __init__(self) -> None:
        super().__init__(
            "The Hugging Face Hub does not take the token that the server has",
            hint="make one with the right to write at https://huggingface.co/settings/tokens, and set it as HF_TOKEN",
        )


class NoRights(PotatoError):
    """The token's owner may not write there."""

    code = "no_hub_rights"
    status = 409


class RepoInTheWay(PotatoError):
    """The repository exists, and writing into it is likely not what was meant."""

    code = "repo_in_the_way"
    status = 409


class CardRefused(PotatoError):
    """The Hub does not take the model card."""

    code = "card_refused"
    status = 500

    def __init__(self, reason: str) -> None:
        super().__init__(f"The Hub does not take the model card: {reason}", hint="this is a mistake of Potato's own")


class HubFailed(PotatoError):
    """The Hub could not be reached, or refused something that the checks had let pass."""

    code = "hub_failed"
    status = 502

    def __init__(self, doing: str, reason: str) -> None:
        super().__init__(
            f"The Hub failed while {doing}: {reason}",
            hint="push again: what is there already is not sent twice, and no half of a model is ever shown",
        )
