"""Verdicts whole, decisions of retraining, rankings of what a model is unsure of"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_SHOWN = """
UPDATE live_runs SET shown = (
  SELECT count(*) FROM predictions
  WHERE predictions.run_id = live_runs.run_id AND predictions.scheme = live_runs.scheme AND predictions.gate IS NULL
)
"""
_INDEXED = ["run_id", "scheme", "gate", "confidence", "item"]


def upgrade() -> None:
    key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("live_runs", sa.Column("shown", sa.Integer(), nullable=False, server_default="0"))
    op.execute(_SHOWN)
    op.add_column("runs", sa.Column("labels_upto", sa.BigInteger(), nullable=True))
    op.create_index("ix_predictions_run_id_scheme_gate_confidence_item", "predictions", _INDEXED)
    for column in (
        sa.Column("model_version", sa.Text(), nullable=True),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("given", sa.JSON(), nullable=True),
        sa.Column("superseded", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("request_id", sa.Text(), nullable=True),
    ):
        op.add_column("verdicts", column)
    current = sa.text("NOT superseded")
    op.create_index(
        "uq_verdicts_run_id_scheme_item",
        "verdicts",
        ["run_id", "scheme", "item"],
        unique=True,
        sqlite_where=current,
        postgresql_where=current,
    )
    op.create_index("ix_verdicts_request_id", "verdicts", ["request_id"])
    op.create_table(
        "decisions",
        sa.Column("seq", key, nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_decisions")),
    )
    op.create_table(
        "rankings",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("item", key, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "place", name=op.f("pk_rankings")),
    )


def downgrade() -> None:
    op.drop_table("rankings")
    op.drop_table("decisions")
    op.drop_index("ix_verdicts_request_id", "verdicts")
    op.drop_index("uq_verdicts_run_id_scheme_item", "verdicts")
    for name in ("request_id", "superseded", "given", "confidence", "model_version"):
        op.drop_column("verdicts", name)
    op.drop_index("ix_predictions_run_id_scheme_gate_confidence_item", "predictions")
    op.drop_column("runs", "labels_upto")
    op.drop_column("live_runs", "shown")
