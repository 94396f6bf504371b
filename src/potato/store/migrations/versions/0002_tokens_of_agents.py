"""Tokens of agents"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agent_tokens",
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("issued_at", sa.Text(), nullable=False),
        sa.Column("last_seen", sa.Text(), nullable=True),
        sa.Column("host", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("backend", name=op.f("pk_agent_tokens")),
    )


def downgrade() -> None:
    op.drop_table("agent_tokens")
