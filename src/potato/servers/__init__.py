"""Several server processes of one project: which supervises the runs, and how the others pass on what needs it."""
