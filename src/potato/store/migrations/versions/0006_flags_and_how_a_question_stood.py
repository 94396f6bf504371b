"""Flags of items, and how a question stood when it was answered"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ANSWERS = ("annotations", "annotation_history", "import_rows")


def upgrade() -> None:
    op.add_column("assignments", sa.Column("flag", sa.Text(), nullable=True))
    for table in ANSWERS:
        op.add_column(table, sa.Column("shown", sa.JSON(), nullable=True))


def downgrade() -> None:
    for table in ANSWERS:
        op.drop_column(table, "shown")
    op.drop_column("assignments", "flag")
