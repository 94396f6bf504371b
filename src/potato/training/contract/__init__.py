"""What every side of a run agrees on. It travels: Python 3.8 and the standard library alone."""
