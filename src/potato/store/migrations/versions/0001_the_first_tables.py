"""The first tables"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cursors",
        sa.Column("user", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("list", sa.Text(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user", "list", name=op.f("pk_cursors")),
    )
    op.create_table(
        "facts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_facts")),
    )
    op.create_table(
        "import_rows",
        sa.Column("import_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("at", sa.Text(), nullable=True),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("suggestion", sa.JSON(), nullable=True),
        sa.Column("elapsed_ms", sa.Integer(), nullable=True),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("import_id", "item", "annotator", "scheme", name=op.f("pk_import_rows")),
    )
    op.create_table(
        "imports",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("replace", sa.Boolean(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_imports")),
    )
    op.create_table(
        "items",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("audio", sa.Text(), nullable=True),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("grp", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("added_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_items")),
        sa.UniqueConstraint("id", name=op.f("uq_items_id")),
    )
    op.create_table(
        "returned",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_returned")),
    )
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("trainer", sa.Text(), nullable=False),
        sa.Column("schemas", sa.JSON(), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column("started_by", sa.Text(), nullable=True),
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("backend_type", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("device", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Text(), nullable=True),
        sa.Column("finished_at", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("writeback", sa.JSON(), nullable=True),
        sa.Column("model_version", sa.Text(), nullable=True),
        sa.Column("label_order", sa.JSON(), nullable=True),
        sa.Column("artifact_uri", sa.Text(), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("cancel_requested_at", sa.Text(), nullable=True),
        sa.Column("applied", sa.BigInteger(), nullable=False),
        sa.Column("files_removed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_runs")),
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index("ix_runs_state", ["state"], unique=False)

    op.create_table(
        "sources",
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("mtime_ns", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("read_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("path", name=op.f("pk_sources")),
    )
    op.create_table(
        "tallies",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tallies")),
    )
    op.create_table(
        "text_groups",
        sa.Column(
            "text_hash", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("text_hash", name=op.f("pk_text_groups")),
    )
    op.create_table(
        "trained_groups",
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("grp", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("scheme", "grp", name=op.f("pk_trained_groups")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
    )
    op.create_table(
        "wanted",
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_wanted")),
    )
    with op.batch_alter_table("wanted", schema=None) as batch_op:
        batch_op.create_index("ix_wanted_taken_item", ["taken", "item"], unique=False)

    op.create_table(
        "annotation_history",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("user", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("suggestion", sa.JSON(), nullable=True),
        sa.Column("elapsed_ms", sa.Integer(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["item"], ["items.seq"], name=op.f("fk_annotation_history_item_items")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_annotation_history_user_users")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_annotation_history")),
        sa.UniqueConstraint("user", "request_id", "scheme", name=op.f("uq_annotation_history_user_request_id_scheme")),
    )
    with op.batch_alter_table("annotation_history", schema=None) as batch_op:
        batch_op.create_index("ix_annotation_history_item_user", ["item", "user"], unique=False)

    op.create_table(
        "annotations",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("user", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("suggestion", sa.JSON(), nullable=True),
        sa.Column("elapsed_ms", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["item"], ["items.seq"], name=op.f("fk_annotations_item_items")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_annotations_user_users")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_annotations")),
        sa.UniqueConstraint("item", "user", "scheme", name=op.f("uq_annotations_item_user_scheme")),
    )
    with op.batch_alter_table("annotations", schema=None) as batch_op:
        batch_op.create_index("ix_annotations_scheme_item", ["scheme", "item"], unique=False)

    op.create_table(
        "assignments",
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("user", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("leased_until", sa.Text(), nullable=True),
        sa.Column("extra", sa.Boolean(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item"], ["items.seq"], name=op.f("fk_assignments_item_items")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_assignments_user_users")),
        sa.PrimaryKeyConstraint("item", "user", name=op.f("pk_assignments")),
    )
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.create_index("ix_assignments_state_leased_until", ["state", "leased_until"], unique=False)
        batch_op.create_index("ix_assignments_user_at_item", ["user", "at", "item"], unique=False)
        batch_op.create_index("ix_assignments_user_state_at", ["user", "state", "at"], unique=False)

    op.create_table(
        "live_runs",
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("since", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_live_runs_run_id_runs")),
        sa.PrimaryKeyConstraint("scheme", name=op.f("pk_live_runs")),
    )
    op.create_table(
        "predictions",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("probabilities", sa.JSON(), nullable=True),
        sa.Column("gate", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["item"], ["items.seq"], name=op.f("fk_predictions_item_items")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_predictions_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", "scheme", "item", name=op.f("pk_predictions")),
    )
    with op.batch_alter_table("predictions", schema=None) as batch_op:
        batch_op.create_index("ix_predictions_scheme_item", ["scheme", "item"], unique=False)

    op.create_table(
        "verdicts",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item"], ["items.seq"], name=op.f("fk_verdicts_item_items")),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_verdicts")),
    )
    with op.batch_alter_table("verdicts", schema=None) as batch_op:
        batch_op.create_index("ix_verdicts_scheme_item", ["scheme", "item"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("verdicts", schema=None) as batch_op:
        batch_op.drop_index("ix_verdicts_scheme_item")

    op.drop_table("verdicts")
    with op.batch_alter_table("predictions", schema=None) as batch_op:
        batch_op.drop_index("ix_predictions_scheme_item")

    op.drop_table("predictions")
    op.drop_table("live_runs")
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.drop_index("ix_assignments_user_state_at")
        batch_op.drop_index("ix_assignments_user_at_item")
        batch_op.drop_index("ix_assignments_state_leased_until")

    op.drop_table("assignments")
    with op.batch_alter_table("annotations", schema=None) as batch_op:
        batch_op.drop_index("ix_annotations_scheme_item")

    op.drop_table("annotations")
    with op.batch_alter_table("annotation_history", schema=None) as batch_op:
        batch_op.drop_index("ix_annotation_history_item_user")

    op.drop_table("annotation_history")
    with op.batch_alter_table("wanted", schema=None) as batch_op:
        batch_op.drop_index("ix_wanted_taken_item")

    op.drop_table("wanted")
    op.drop_table("users")
    op.drop_table("trained_groups")
    op.drop_table("text_groups")
    op.drop_table("tallies")
    op.drop_table("sources")
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_index("ix_runs_state")

    op.drop_table("runs")
    op.drop_table("returned")
    op.drop_table("items")
    op.drop_table("imports")
    op.drop_table("import_rows")
    op.drop_table("facts")
    op.drop_table("cursors")
