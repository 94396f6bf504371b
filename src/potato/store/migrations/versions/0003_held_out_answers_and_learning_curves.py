"""Held-out answers and learning curves"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "held_out_answers",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("item", key, nullable=False),
        sa.Column("target", sa.JSON(), nullable=False),
        sa.Column("said", sa.JSON(), nullable=False),
        sa.Column("human", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("off", sa.Float(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_held_out_answers_run_id_runs")),
        sa.ForeignKeyConstraint(["item"], ["items.seq"], name=op.f("fk_held_out_answers_item_items")),
        sa.PrimaryKeyConstraint("run_id", "scheme", "item", name=op.f("pk_held_out_answers")),
    )
    op.create_index("ix_held_out_answers_item", "held_out_answers", ["item"])
    op.add_column("runs", sa.Column("train_share", sa.Float(), nullable=False, server_default="1"))
    op.add_column("runs", sa.Column("curve_of", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "curve_of")
    op.drop_column("runs", "train_share")
    op.drop_table("held_out_answers")
