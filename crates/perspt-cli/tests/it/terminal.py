# Runs a program at a terminal of its own and passes on what is typed and what is shown.
# One that hangs is ended in the end, so that its test fails instead of waiting for ever.
import os
import pty
import select
import signal
import sys

HANGS = 300

pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
signal.alarm(HANGS)
sources = [0, fd]
while True:
    ready, _, _ = select.select(sources, [], [])
    if 0 in ready:
        typed = os.read(0, 4096)
        if typed:
            os.write(fd, typed)
        else:
            sources.remove(0)
    if fd in ready:
        try:
            shown = os.read(fd, 4096)
        except OSError:
            break
        if not shown:
            break
        os.write(1, shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
