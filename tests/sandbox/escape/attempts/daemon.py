# Leave a process behind that has a session of its own and lost its parent.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        os.execvpe("sleep", ["sleep", "97", ], {"TAG": TAG})
    os._exit(0)
os.wait()
