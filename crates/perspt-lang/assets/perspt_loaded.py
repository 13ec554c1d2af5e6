"""A pytest plugin: writes the files of all modules that a run has loaded, one a line, to PERSPT_LOADED."""

import os
import sys


def files(session):
    for module in list(sys.modules.values()):
        try:
            yield module.__file__
        except Exception:  # not every entry is a module
            pass
    for item in session.items:
        yield getattr(item, "path", None) or getattr(item, "fspath", None)


def pytest_sessionfinish(session):
    paths = sorted({os.path.abspath(str(path)) for path in files(session) if path})
    with open(os.environ["PERSPT_LOADED"], "a", encoding="utf-8", errors="replace") as report:
        report.writelines(path + "\n" for path in paths)
