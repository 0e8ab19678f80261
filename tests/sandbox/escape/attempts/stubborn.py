# Leave a process behind that ignores signals and has no environment.
import os
import signal
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
if os.fork() == 0:
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, signal.SIG_IGN)
    os.setpgid(0, 0)
    os.closerange(0, 3)
    os.execvpe("sleep", ["sleep", "97"], {"TAG": TAG})
