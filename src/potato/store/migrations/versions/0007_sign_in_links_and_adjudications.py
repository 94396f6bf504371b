"""Sign-in links of annotators, and what was adjudicated"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("link_digest", sa.Text(), nullable=True))
    op.add_column("users", sa.Column("link_issued_at", sa.Text(), nullable=True))
    op.create_index("ix_users_link_digest", "users", ["link_digest"], unique=True)
    op.create_table(
        "adjudications",
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("adjudicator", sa.Text(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item"], ["items.seq"], name=op.f("fk_adjudications_item_items")),
        sa.PrimaryKeyConstraint("item", "scheme", name=op.f("pk_adjudications")),
    )
    op.create_index("ix_adjudications_scheme_item", "adjudications", ["scheme", "item"])


def downgrade() -> None:
    op.drop_table("adjudications")
    op.drop_index("ix_users_link_digest", "users")
    op.drop_column("users", "link_issued_at")
    op.drop_column("users", "link_digest")
