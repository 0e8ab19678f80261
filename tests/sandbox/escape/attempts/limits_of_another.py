# Lower the limits of another process.
import resource
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
resource.prlimit(int(VICTIM), resource.RLIMIT_CORE, (0, 0))
