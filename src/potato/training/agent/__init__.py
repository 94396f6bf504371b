"""The agent: the program on the training side. It travels: Python 3.8 and the standard library alone.

It opens every connection itself. The courier carries bytes between the server and a job's folder; the keeper, a
process of its own, owns the job's worker and outlives the courier.
"""
