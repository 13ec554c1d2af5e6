"""Starts a tool: the module of the interpreter's own environment, or else the program on the path.

Usage: perspt_tool.py TOOL [ARGUMENT]...
The argument PERSPT_PYTHON becomes the path of the interpreter.
"""
import importlib.util
import os
import runpy
import sys

TOOL = sys.argv[1]
ARGUMENTS = [sys.executable if word == "PERSPT_PYTHON" else word for word in sys.argv[2:]]

# Nothing of the tree and nothing of ours is imported by the tool.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [place for place in sys.path if place and os.path.abspath(place) not in (HERE, os.getcwd())]

if importlib.util.find_spec(TOOL) is not None:
    sys.argv = [TOOL, *ARGUMENTS]
    runpy.run_module(TOOL, run_name="__main__", alter_sys=True)
else:
    try:
        os.execvp(TOOL, [TOOL, *ARGUMENTS])
    except OSError as error:
        sys.exit(f"No module named {TOOL}, and no program of that name that starts: {error.strerror}")
