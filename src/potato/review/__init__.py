"""Answers looked at again: the queue of pre-labels, least confident first, and the adjudicator's own answer."""
