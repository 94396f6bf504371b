"""The project file as one typed model. The JSON Schema and the configuration reference are made from it."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from potato.model import Model, Text
from potato.project.training import ModelTraining
from potato.schemes import AnyScheme


class ItemProperties(Model):
    """Which fields of a data row mean what."""

    id_key: Text = "id"
    """The field with the item's id."""
    text_key: Text = "text"
    """The field with the item's text."""
    image_key: Text | None = None
    """The field with an image: a file under `task_dir`, or a URL."""
    image_alt_key: Text | None = None
    """The field that describes the image in words, for those who do not see it."""
    audio_key: Text | None = None
    """The field with a recording: a file under `task_dir`, or a URL."""


class Login(Model):
    """How annotators sign in."""

    type: Literal["name", "password", "link", "header"] = "name"
    """By name alone, with a password, by a personal link, or as a proxy's header says."""
    header: Text = "X-Forwarded-User"
    """The header that names the user, for `type: header`."""
    trusted_proxies: list[Text] = ["127.0.0.1", "::1"]
    """Addresses or networks of the proxies whose header is believed, for `type: header`."""

    @field_validator("trusted_proxies")
    @classmethod
    def _are_addresses(cls, value: list[str]) -> list[str]:
        for address in value:
            try:
                ip_network(address, strict=False)
            except ValueError:
                raise ValueError(f"is no address or network: {address:.60}") from None
        return value


class Validation(Model):
    """Read by `potato validate` alone."""

    acknowledge: list[str] = []
    """Substrings (12 characters or more) of warnings that are known and accepted."""


class ProjectFile(Model):
    """One annotation project."""

    annotation_task_name: Text
    """The project's name, shown to annotators."""
    task_dir: Text = "."
    """What relative paths start from; itself relative to the project file's folder."""
    data_files: list[Text] = Field(min_length=1)
    """JSON, JSON lines, CSV or TSV files, each also gzipped."""
    item_properties: ItemProperties = ItemProperties()
    """Which fields of a data row mean what."""
    output_annotation_dir: Text = "annotation_output"
    """Where annotations, runs and models are kept."""
    admin_api_key: SecretStr | None = None
    """Opens `/admin` and its API."""
    metrics_token: SecretStr | None = None
    """Opens `/metrics` for Prometheus, and nothing else; the admin key opens it too."""
    annotation_schemes: list[AnyScheme] = Field(min_length=1)
    """What is asked of each item."""
    model_training: ModelTraining = ModelTraining()
    """Training models on the labels."""
    debug: bool = False
    """While true, requests from this machine itself have admin rights."""
    database_url: SecretStr | None = None
    """A PostgreSQL address; SQLite under `output_annotation_dir` when left out."""
    login: Login = Login()
    """How annotators sign in."""
    annotations_per_item: int = Field(default=1, ge=1)
    """How many annotators each item is given to."""
    assignment_strategy: Literal["ordered", "random", "least-annotated", "uncertainty"] = "ordered"
    """Which item comes next; `uncertainty`: the one that the newest live model is least sure of."""
    uncertainty_random_share: float = Field(default=0.2, ge=0, le=1)
    """With `uncertainty`, the share of items that come at random; held-out items come in no other way."""
    lease_minutes: float = Field(default=60, gt=0)
    """An item handed out and not answered within this time is given to others."""
    guidelines: Text | None = None
    """A Markdown file that opens beside the text."""
    bad_rows: Literal["fail", "skip"] = "fail"
    """Rows without a usable text: `fail` stops the start and names them; `skip` leaves them out and counts them."""
    validation: Validation = Validation()
    """What `potato validate` knows already."""
