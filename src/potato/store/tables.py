"""Every table. The migrations make them; the modules beside this one query them; nothing else speaks SQL.

Times are text: UTC, ISO 8601, milliseconds, `Z`, so that they sort as they read. An item is referred to by its `seq`,
which is also its place in the data files.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_Key = BigInteger().with_variant(Integer, "sqlite")

facts = Table(  # one value a name: the cookie secret, counters of automatic retraining
    "facts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", JSON, nullable=False),
)

sources = Table(  # the data files as they were when they were last read
    "sources",
    metadata,
    Column("path", Text, primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("settings", Text, nullable=False),  # what else decides how rows become items: the item properties
    Column("items", Integer, nullable=False),
    Column("read_at", Text, nullable=False),
)

items = Table(
    "items",
    metadata,
    Column("seq", _Key, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("text", Text, nullable=False),
    Column("image", Text),
    Column("audio", Text),
    Column("fields", JSON, nullable=False),  # the row's other fields, as they were
    Column("content", LargeBinary, nullable=False),  # hash over everything the row says
    Column("grp", Text, nullable=False),  # id of the first item with the same normalised text; splits go by it
    Column("source", Text, nullable=False),
    Column("line", Integer, nullable=False),
    Column("added_at", Text, nullable=False),
)

text_groups = Table(  # hash of the normalised text → the first item that had it, so that a later copy joins its group
    "text_groups",
    metadata,
    Column("text_hash", _Key, primary_key=True, autoincrement=False),
    Column("item", _Key, nullable=False),
)

tallies = Table(  # whole numbers kept up to date by the writes that change them, so that nobody has to count
    "tallies",
    metadata,
    Column("name", Text, primary_key=True),  # items_visible, items_done
    Column("value", BigInteger, nullable=False),
)

wanted = Table(  # the items that still want annotators; an item that has or is promised enough is not here
    "wanted",
    metadata,
    Column("item", _Key, primary_key=True, autoincrement=False),
    Column("taken", Integer, nullable=False),  # annotators who have answered it or hold it
    Index("ix_wanted_taken_item", "taken", "item"),
)

returned = Table(  # append-only: items that had enough annotators and then lost one
    "returned",
    metadata,
    Column("seq", _Key, primary_key=True),
    Column("item", _Key, nullable=False),
)

cursors = Table(  # how far a user has come in a list; everything before it was theirs, or not to be had
    "cursors",
    metadata,
    Column("user", _Key, nullable=False),
    Column("list", Text, nullable=False),  # items, returned, level:N
    Column("place", BigInteger, nullable=False),
    PrimaryKeyConstraint("user", "list"),
)

users = Table(
    "users",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("password_hash", Text),  # argon2
    Column("link_digest", Text),  # of the token in their sign-in link
    Column("link_issued_at", Text),
    Column("is_admin", Boolean, nullable=False, default=False),
    Column("created_at", Text, nullable=False),
    Column("done", Integer, nullable=False, default=0),  # how many items they have answered
    Column("skipped", Integer, nullable=False, default=0),
    Index("ix_users_link_digest", "link_digest", unique=True),
)

assignments = Table(  # who was given what; one row for each user and item that ever met
    "assignments",
    metadata,
    Column("item", _Key, ForeignKey("items.seq"), nullable=False),
    Column("user", _Key, ForeignKey("users.id"), nullable=False),
    Column("state", Text, nullable=False),  # open, lapsed, done, skipped
    Column("reason", Text),  # why it was skipped
    Column("leased_until", Text),  # open: afterwards it lapses, and the item may go to others
    Column("extra", Boolean, nullable=False, default=False),  # answered when enough others had
    Column("at", Text, nullable=False),  # when they first met
    Column("flag", Text),  # why they want somebody to look at it; empty: they did not say
    PrimaryKeyConstraint("item", "user"),
    Index("ix_assignments_user_at_item", "user", "at", "item"),
    Index("ix_assignments_user_state_at", "user", "state", "at"),
    Index("ix_assignments_state_leased_until", "state", "leased_until"),
)

annotations: Table = Table(  # the current answer of each annotator to each question of each item
    "annotations",
    metadata,
    Column("seq", _Key, primary_key=True),
    Column("item", _Key, ForeignKey("items.seq"), nullable=False),
    Column("user", _Key, ForeignKey("users.id"), nullable=False),
    Column("scheme", Text, nullable=False),
    Column("value", JSON, nullable=False),
    Column("at", Text, nullable=False),
    Column("source", Text, nullable=False),  # page, import
    Column("origin", Text, nullable=False),  # none, accepted, changed: how it stands to the suggestion shown
    Column("suggestion", JSON),  # {run_id, model_version, payload, confidence} as it was shown
    Column("elapsed_ms", Integer),
    Column("shown", JSON(none_as_null=True)),  # how the question stood, where that differs from person to person
    UniqueConstraint("item", "user", "scheme"),
    Index("ix_annotations_scheme_item", "scheme", "item"),
)

annotation_history = Table(  # append-only: every write to `annotations`; `value` null: cleared
    "annotation_history",
    metadata,
    Column("seq", _Key, primary_key=True),
    Column("item", _Key, ForeignKey("items.seq"), nullable=False),
    Column("user", _Key, ForeignKey("users.id"), nullable=False),
    Column("scheme", Text, nullable=False),
    Column("value", JSON(none_as_null=True)),
    Column("at", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("suggestion", JSON),
    Column("elapsed_ms", Integer),
    Column("shown", JSON(none_as_null=True)),  # how the question stood, where that differs from person to person
    Column("request_id", Text),
    UniqueConstraint("user", "request_id", "scheme"),
    Index("ix_annotation_history_item_user", "item", "user"),
)

imports = Table(  # files being taken in; one that is `ready` will be applied to its end, whatever happens
    "imports",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("file", Text, nullable=False),
    Column("state", Text, nullable=False),  # staging, ready
    Column("replace", Boolean, nullable=False),
    Column("at", Text, nullable=False),
    Column("counts", JSON, nullable=False),  # what was applied so far
)

import_rows = Table(  # their answers, parsed, until each is applied
    "import_rows",
    metadata,
    Column("import_id", _Key, nullable=False),
    Column("item", _Key, nullable=False),
    Column("annotator", Text, nullable=False),
    Column("scheme", Text, nullable=False),  # empty: not an answer, the item was skipped
    Column("value", JSON, nullable=False),  # the answer, or why it was skipped
    Column("at", Text),  # as the file says
    Column("origin", Text, nullable=False),
    Column("suggestion", JSON),
    Column("elapsed_ms", Integer),
    Column("shown", JSON(none_as_null=True)),
    Column("line", Integer, nullable=False),
    PrimaryKeyConstraint("import_id", "item", "annotator", "scheme"),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("step", Text, nullable=False, default=""),
    Column("trainer", Text, nullable=False),
    Column("schemas", JSON, nullable=False),
    Column("params", JSON, nullable=False),
    Column("trigger", Text, nullable=False),  # manual, api, auto
    Column("started_by", Text),
    Column("backend", Text, nullable=False),
    Column("backend_type", Text, nullable=False),
    Column("host", Text),
    Column("device", Text),
    Column("created_at", Text, nullable=False),
    Column("started_at", Text),
    Column("finished_at", Text),
    Column("attempt", Integer, nullable=False, default=0),
    Column("counts", JSON, nullable=False, default=dict),  # items a split, and to predict
    Column("progress", JSON),
    Column("digest", Text),  # of the bundle
    Column("metrics", JSON, nullable=False, default=dict),  # the trainer's own figures
    Column("scores", JSON, nullable=False, default=dict),  # the server's, by scheme
    Column("writeback", JSON),
    Column("model_version", Text),
    Column("label_order", JSON),
    Column("artifact_uri", Text),
    Column("error", JSON),
    Column("warnings", JSON, nullable=False, default=list),
    Column("cancel_requested_at", Text),
    Column("applied", BigInteger, nullable=False, default=0),  # bytes of events.jsonl that the row reflects
    Column("files_removed", Boolean, nullable=False, default=False),
    Column("labels_upto", BigInteger),  # the last line of `annotation_history` whose label it may have learned from
    Column("train_share", Float, nullable=False, default=1.0, server_default="1"),  # of the training split
    Column("curve_of", Text),  # the run whose learning curve it is a point of; such a run is never live
    Index("ix_runs_state", "state"),
)

predictions = Table(  # what a run said of an item; invisible until `live_runs` points at the run
    "predictions",
    metadata,
    Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
    Column("scheme", Text, nullable=False),
    Column("item", _Key, ForeignKey("items.seq"), nullable=False),
    Column("payload", JSON, nullable=False),
    Column("confidence", Float),
    Column("probabilities", JSON),
    Column("gate", Text),  # the gate that keeps it from being shown; null: it may be shown
    PrimaryKeyConstraint("run_id", "scheme", "item"),
    Index("ix_predictions_scheme_item", "scheme", "item"),
    Index("ix_predictions_run_id_scheme_gate_confidence_item", "run_id", "scheme", "gate", "confidence", "item"),
)

rankings = Table(  # a run's items, the one that its model is least sure of first; `assignment_strategy: uncertainty`
    "rankings",
    metadata,
    Column("run_id", Text, nullable=False),
    Column("place", Integer, nullable=False),
    Column("item", _Key, nullable=False),
    PrimaryKeyConstraint("run_id", "place"),
)

held_out_answers = Table(  # people's answer and a run's, for each test item that it was scored on
    "held_out_answers",
    metadata,
    Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
    Column("scheme", Text, nullable=False),
    Column("item", _Key, ForeignKey("items.seq"), nullable=False),
    Column("target", JSON, nullable=False),
    Column("said", JSON, nullable=False),
    Column("human", Text),  # the row and the column of the confusion matrix, for kinds that have one
    Column("model", Text),
    Column("off", Float, nullable=False),  # how far apart the two are: 0 is right
    Column("confidence", Float),
    PrimaryKeyConstraint("run_id", "scheme", "item"),
    Index("ix_held_out_answers_item", "item"),
)

live_runs = Table(  # the one pointer that says whose pre-labels are shown
    "live_runs",
    metadata,
    Column("scheme", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
    Column("since", Text, nullable=False),
    Column("shown", Integer, nullable=False, default=0, server_default="0"),  # how many of them are shown at present
)

trained_groups = Table(  # what any recorded run has trained on: the leak guard
    "trained_groups",
    metadata,
    Column("scheme", Text, nullable=False),
    Column("grp", Text, nullable=False),
    Column("run_id", Text, nullable=False),  # the first that did
    PrimaryKeyConstraint("scheme", "grp"),
)

verdicts = Table(  # what reviewers said of pre-labels; one that was thought over is `superseded` by the next
    "verdicts",
    metadata,
    Column("seq", _Key, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("scheme", Text, nullable=False),
    Column("item", _Key, ForeignKey("items.seq"), nullable=False),
    Column("payload", JSON, nullable=False),  # the answer judged
    Column("verdict", Text, nullable=False),  # accept, correct, reject
    Column("user", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("model_version", Text),
    Column("confidence", Float),
    Column("given", JSON(none_as_null=True)),  # what the reviewer answers; null for a rejection
    Column("superseded", Boolean, nullable=False, default=False, server_default=false()),
    Column("request_id", Text),
    Index("ix_verdicts_scheme_item", "scheme", "item"),
    Index(
        "uq_verdicts_run_id_scheme_item",
        "run_id",
        "scheme",
        "item",
        unique=True,
        sqlite_where=text("NOT superseded"),
        postgresql_where=text("NOT superseded"),
    ),
    Index("ix_verdicts_request_id", "request_id"),
)

decisions = Table(  # what automatic retraining decided and why, and which models took over; the newest few hundred
    "decisions",
    metadata,
    Column("seq", _Key, primary_key=True),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),  # waiting, started, refused, took_over, not_taken_over, shown_anyway
    Column("sentence", Text, nullable=False),
    Column("run_id", Text),
)

agent_tokens = Table(  # one token a backend; the hash alone
    "agent_tokens",
    metadata,
    Column("backend", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("issued_at", Text, nullable=False),
    Column("last_seen", Text),
    Column("host", Text),
)

publications = Table(  # models on their way to the Hugging Face Hub, and those that are there
    "publications",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
    Column("scheme", Text, nullable=False),
    Column("repo", Text, nullable=False),
    Column("public", Boolean, nullable=False),
    Column("state", Text, nullable=False),  # going, published, failed
    Column("step", Text, nullable=False),
    Column("url", Text),
    Column("revision", Text),  # the commit
    Column("error", JSON),
    Column("started_by", Text),
    Column("at", Text, nullable=False),
    Column("finished_at", Text),
    Index("ix_publications_run_id", "run_id"),
)

deliveries = Table(  # the outbox of webhooks: written with what it tells of, in one transaction
    "deliveries",
    metadata,
    Column("seq", _Key, primary_key=True),
    Column("id", Text, nullable=False, unique=True),  # the same at every attempt
    Column("hook", Text, nullable=False),  # a digest of the address, which may hold a secret
    Column("event", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("state", Text, nullable=False),  # waiting, delivered, failed
    Column("attempts", Integer, nullable=False, default=0),
    Column("due", Text, nullable=False),  # waiting: not before
    Column("status", Integer),  # of the last attempt
    Column("error", Text),
    Column("finished_at", Text),
    Index("ix_deliveries_hook_state_due", "hook", "state", "due"),
)

adjudications = (
    Table(  # what was decided of items about which annotators disagreed; it stands in place of their consensus
        "adjudications",
        metadata,
        Column("item", _Key, ForeignKey("items.seq"), nullable=False),
        Column("scheme", Text, nullable=False),
        Column("value", JSON, nullable=False),
        Column("adjudicator", Text, nullable=False),
        Column("at", Text, nullable=False),
        Column("source", Text, nullable=False),  # page, import
        PrimaryKeyConstraint("item", "scheme"),
        Index("ix_adjudications_scheme_item", "scheme", "item"),
    )
)
