"""A pytest plugin: says in PERSPT_LOADED which files a run has loaded, and which of them each test file reaches.

A line is a file, or a test file, a tab and a file that it reaches by imports.
"""

import ast
import os
import sys
import types


def file_of(module):
    try:
        return os.path.abspath(module.__file__)
    except Exception:  # not every entry is a module with a file
        return None


def imported(module):
    """The loaded modules that a module's text imports, wherever the import stands."""
    try:
        with open(file_of(module), "rb") as file:
            nodes = list(ast.walk(ast.parse(file.read())))
    except Exception:  # no source, or none that parses
        return
    for node in nodes:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = (getattr(module, "__package__", "") or "").split(".")
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join(parts + ([node.module] if node.module else []))
            names = [base] + [base + "." + alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            for end in range(1, len(parts) + 1):
                yield sys.modules.get(".".join(parts[:end]))


def reached(start, tree):
    """The files below the tree that a module leads to."""
    found, todo = set(), [start]
    while todo:
        module = todo.pop()
        path = file_of(module) if module is not None else None
        if path and path.startswith(tree + os.sep) and path not in found:
            found.add(path)
            todo.extend(imported(module))
    return found


def pytest_sessionfinish(session):
    tree = os.path.abspath(os.environ["PERSPT_TREE"])
    loaded = {file_of(module) for module in list(sys.modules.values())} - {None}
    conftests = [module for module in list(sys.modules.values()) if (file_of(module) or "").endswith("conftest.py")]
    tests = {}
    for item in session.items:
        path = os.path.abspath(str(getattr(item, "path", None) or getattr(item, "fspath", "")))
        tests[path] = getattr(item, "module", None)
    shared = set().union(*(reached(module, tree) for module in conftests))
    with open(os.environ["PERSPT_LOADED"], "a", encoding="utf-8", errors="replace") as report:
        report.writelines(path + "\n" for path in sorted(loaded | set(tests)))
        for path, module in sorted(tests.items(), key=lambda one: one[0]):
            if isinstance(module, types.ModuleType):
                report.writelines(path + "\t" + file + "\n" for file in sorted(reached(module, tree) | shared))
