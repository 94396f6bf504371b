"""Gives every project that names no database a schema of PostgreSQL, in each process that a test starts.

`POTATO_TEST_DATABASE=postgresql` runs the test suite this way. The address of the test process's server is in
`POTATO_TEST_POSTGRES`; this folder is on `PYTHONPATH`, so that interpreters import this file before all else. It must
cost those nothing that never open a project: trainers run under any Python, and without Potato.
"""

import importlib.abc
import importlib.machinery
import os
import sys

ADDRESS = "POTATO_TEST_POSTGRES"
_MODULE = "potato.project.project"


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module of `Project` as ever, and has it changed once it is there."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        spec.loader = _Loader(name, spec.origin)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):  # type: ignore[no-untyped-def]
        super().exec_module(module)
        _change(module.Project)


def _change(project):  # type: ignore[no-untyped-def]
    """Let the address of a project's own file be that of a schema, by its folder."""

    def database_url(self):  # type: ignore[no-untyped-def]
        if self.config.database_url is not None:
            return self.config.database_url.get_secret_value()
        known = self.__dict__.get("_url")
        if known is None:
            known = self.__dict__["_url"] = schema_of(str(self.output_dir))
        return known

    project.database_url = property(database_url)


def schema_of(folder):  # type: ignore[no-untyped-def]
    """The address of the schema of the project whose output lies in `folder`; made where it is missing."""
    import hashlib

    import psycopg

    name = "project_" + hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:20]
    address = os.environ[ADDRESS]
    with psycopg.connect(address, autocommit=True) as conn:
        conn.execute("SELECT pg_advisory_lock(1)")  # IF NOT EXISTS alone fails where two do it at once
        conn.execute("CREATE SCHEMA IF NOT EXISTS " + name)
        conn.execute("CREATE TABLE IF NOT EXISTS projects (folder text PRIMARY KEY, schema text)")
        conn.execute("INSERT INTO projects VALUES (%s, %s) ON CONFLICT DO NOTHING", (folder, name))
    return address + "?options=-csearch_path%3D" + name


if os.environ.get(ADDRESS):
    sys.meta_path.insert(0, _Finder())
