"""The ways to make a model of labels, one file each. They travel: a library is imported where a method needs it."""
