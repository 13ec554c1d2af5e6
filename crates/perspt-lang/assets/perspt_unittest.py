"""Lists or runs unittest tests, one JSON line each, into a report outside the tree.

Usage: perspt_unittest.py list|run ROOT REPORT [--path FOLDER ...] [--skip FOLDER ...] [--only FILE ...]
Test ids are those pytest would give: path::Class::method. The last line of a report is {"done": count};
a report without it is not whole. A run also says which files its process has loaded, and with --only it
runs the tests of that file alone. Everything needed here is imported before the tree can be reached.
"""

import fnmatch
import importlib
import importlib.util
import json
import os
import sys
import traceback
import unittest

NEVER = {"build", "dist", "node_modules", "venv", "CVS", "__pycache__", "site-packages"}
PATTERNS = ("test*.py", "*_test.py")


def arguments(argv):
    mode, root, report = argv[0], argv[1], argv[2]
    lists = {"--path": [], "--skip": [], "--only": []}
    for flag, value in zip(argv[3::2], argv[4::2]):
        lists[flag].append(value)
    return mode, root, report, lists["--path"], set(lists["--skip"]), lists["--only"]


def test_files(root, skipped):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in NEVER
            and not name.startswith(".")
            and not name.endswith(".egg")
            and os.path.join(folder, name) not in skipped
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        for name in sorted(names):
            if any(fnmatch.fnmatch(name, pattern) for pattern in PATTERNS):
                yield os.path.join(folder, name)


def load(path):
    """The module of a file, named from the first folder upwards that is no package."""
    base, parts = os.path.dirname(path), [os.path.basename(path)[:-3]]
    while os.path.exists(os.path.join(base, "__init__.py")):
        base, name = os.path.split(base)
        parts.insert(0, name)
    if base not in sys.path:
        sys.path.insert(0, base)
    name = ".".join(parts)
    module = importlib.import_module(name)
    if os.path.realpath(getattr(module, "__file__", None) or "") == os.path.realpath(path):
        return module
    # Another file of that name was there first.
    spec = importlib.util.spec_from_file_location("perspt_" + str(abs(hash(path))), path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def name_of(test, relative):
    method = getattr(test, "_testMethodName", None)
    if method is None:
        return relative + "::" + test.id()
    return relative + "::" + type(test).__qualname__.replace(".", "::") + "::" + method


def failure(relative, error):
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename.endswith(relative)), None)
    if isinstance(error, SyntaxError):
        line = error.lineno
    return {"error": {"file": relative, "kind": type(error).__name__, "message": str(error), "line": line,
                      "trace": "".join(traceback.format_exception(type(error), error, error.__traceback__))}}


def collect(root, skipped):
    """Suites, names by test object, and what could not be loaded."""
    loader = unittest.TestLoader()
    suite, names, errors, seen = unittest.TestSuite(), {}, [], {}
    for path in test_files(root, skipped):
        relative = os.path.relpath(path, root)
        try:
            found = loader.loadTestsFromModule(load(path))
            tests = list(flat(found))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, unittest.SkipTest):
                continue
            errors.append(failure(relative, error))
            continue
        for test in tests:
            if isinstance(test, getattr(unittest.loader, "_FailedTest", ())):
                errors.append(failure(relative, test._exception))
                continue
            name = name_of(test, relative)
            seen[name] = seen.get(name, 0) + 1
            names[id(test)] = name if seen[name] == 1 else name + "#" + str(seen[name])
            suite.addTest(test)
    return suite, names, errors


class Result(unittest.TestResult):
    """Writes each test's end when it is over; the worst that was said of it counts."""

    ORDER = ["passed", "skipped", "failed"]

    def __init__(self, write, names):
        super().__init__()
        self.write, self.names, self.open, self.ended, self.fixtures = write, names, {}, set(), []

    def say(self, test, end, message="", trace=""):
        # A skip inside subTest() is said of the part; it belongs to the whole.
        name = self.names.get(id(getattr(test, "test_case", test)))
        if name is None:
            # setUpClass and setUpModule fail under a name of their own.
            self.fixtures.append((str(getattr(test, "description", test)), end, message, trace))
            return
        before = self.open.get(name)
        if before is None or self.ORDER.index(end) > self.ORDER.index(before["end"]):
            self.open[name] = {"test": name, "end": end, "message": message, "trace": trace}

    def error(self, test, err):
        message = "".join(traceback.format_exception_only(err[0], err[1])).strip()
        self.say(test, "failed", message, "".join(traceback.format_exception(*err)))

    def addSuccess(self, test):
        self.say(test, "passed")

    def addError(self, test, err):
        self.error(test, err)

    def addFailure(self, test, err):
        self.error(test, err)

    def addSkip(self, test, reason):
        self.say(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.say(test, "skipped", "expected failure")

    def addUnexpectedSuccess(self, test):
        self.say(test, "failed", "passed, though a failure was expected")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.error(test, err)

    def stopTest(self, test):
        name = self.names.get(id(test))
        record = self.open.pop(name, None)
        if record is not None and name not in self.ended:
            self.ended.add(name)
            self.write(record)

    def settle(self, suite):
        """Tests whose class or module could not be set up end as that fixture did."""
        for test in suite:
            name = self.names.get(id(test))
            record = self.open.pop(name, None)
            if name in self.ended:
                continue
            owner = "(" + unittest.util.strclass(type(test)) + ")", "(" + type(test).__module__ + ")"
            for description, end, message, trace in self.fixtures if record is None else []:
                if description.endswith(owner):
                    record = {"test": name, "end": end, "message": description + ": " + message, "trace": trace}
            if record is not None:
                self.ended.add(name)
                self.write(record)


def main():
    mode, root, report, paths, skipped, only = arguments(sys.argv[1:])
    sys.path[:1] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    with open(report, "w", encoding="utf-8") as file:

        def write(record):
            file.write(json.dumps(record) + "\n")
            file.flush()

        suite, names, errors = collect(root, skipped)
        tests = list(flat(suite))
        if mode == "list":
            for record in errors:
                write(record)
            for test in tests:
                write({"test": names[id(test)]})
            write({"done": len(tests)})
            return 0
        if only:
            begin = tuple(os.path.relpath(path, root) + "::" for path in only)
            tests = [test for test in tests if names[id(test)].startswith(begin)]
            suite = unittest.TestSuite(tests)
        result = Result(write, names)
        # A suite drops each test when it is over; the list above keeps them, and so their names, alive.
        suite.run(result)
        result.settle(tests)
        # A fixture that failed after its tests, such as tearDownClass, fails nothing above.
        late = [fixture for fixture in result.fixtures if fixture[1] == "failed" and "tearDown" in fixture[0]]
        for description, _, message, trace in late:
            write({"fixture": description, "message": message, "trace": trace})
        write({"loaded": sorted(loaded())})
        write({"done": len(result.ended)})
        return 0


def loaded():
    """The files of all modules of this process."""
    found = set()
    for module in list(sys.modules.values()):
        try:
            found.add(os.path.abspath(module.__file__))
        except Exception:  # not every entry is a module with a file
            pass
    return found


sys.exit(main())
