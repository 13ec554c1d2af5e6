"""Compiles every Python file below a folder in memory and says what does not compile.

Usage: perspt_syntax.py ROOT [SKIPPED_FOLDER ...]
Prints one JSON object per file and a last one with the number of files. Imports nothing from ROOT: it is
started with -I. Nothing is written.
"""

import json
import os
import sys
import warnings

NEVER = {".git", "node_modules", "__pycache__", "site-packages"}


def python_files(root, skipped):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in NEVER
            and os.path.join(folder, name) not in skipped
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith(".py") and not os.path.islink(path):
                yield path


def check(path):
    with open(path, "rb") as file:
        source = file.read()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            compile(source, path, "exec", 0, True)
            problem = None
        except SyntaxError as error:
            problem = {"kind": type(error).__name__, "message": error.msg, "line": error.lineno,
                       "column": error.offset, "text": error.text}
        except Exception as error:  # null bytes, nesting too deep, an unknown encoding
            problem = {"kind": type(error).__name__, "message": str(error)}
    notes = [{"message": str(note.message), "line": note.lineno} for note in caught]
    return {"problem": problem, "warnings": notes}


def main():
    root, skipped = sys.argv[1], set(sys.argv[2:])
    count = 0
    for path in python_files(root, skipped):
        record = check(path)
        record["file"] = os.path.relpath(path, root)
        print(json.dumps(record))
        count += 1
    print(json.dumps({"done": count}))


main()
