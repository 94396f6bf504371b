"""The program on a machine that Potato logs in to. It travels: Python 3.8 and the standard library alone.

It is started by a shell over ssh, and speaks frames over that very connection: the server calls, it answers. When the
connection ends it leaves, and the keepers of jobs stay.
"""
