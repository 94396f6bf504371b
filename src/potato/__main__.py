"""`python -m potato` is `potato`."""

from potato.cli import main

main()
