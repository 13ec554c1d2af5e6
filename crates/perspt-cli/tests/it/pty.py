# Runs a program at a terminal of its own; types the first argument whenever it asks (its words after `||` at the second
# question; what follows `@@` once an answer from elsewhere is shown), and the second as soon as it shows anything; prints what
# it showed.
# One that hangs is ended in the end, so that its test fails instead of waiting for ever.
import os
import pty
import signal
import sys

HANGS = 900

pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[3], sys.argv[3:])
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
signal.alarm(HANGS)
seen = b""
asked = 0
words, _, late = sys.argv[1].partition("@@")
words, late = words.split("||"), late.encode()
while True:
    try:
        piece = os.read(fd, 4096)
    except OSError:
        break
    if not piece:
        break
    if not seen:
        os.write(fd, sys.argv[2].encode())
    seen += piece
    if late and b"ANSWER" in seen:
        os.write(fd, late)
        late = b""
    if seen.count(b"[y/N") > asked:
        os.write(fd, words[min(asked, len(words) - 1)].encode())
        asked += 1
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
