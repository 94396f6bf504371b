"""The reviewers' queue in PostgreSQL, whose indexes sort nothing last unless told otherwise"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_NAME = "ix_predictions_run_id_scheme_gate_confidence_item"


def upgrade() -> None:
    _index("confidence NULLS FIRST")


def downgrade() -> None:
    _index("confidence")


def _index(confidence: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_index(_NAME, "predictions")
        op.create_index(_NAME, "predictions", ["run_id", "scheme", "gate", sa.text(confidence), "item"])
