"""The process that trains: spec in; events, predictions and artifacts out. It travels: Python 3.8, standard library."""
