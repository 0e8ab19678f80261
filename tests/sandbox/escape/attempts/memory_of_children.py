# Use more memory than the limit, shared out among ten processes.
import subprocess
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
code = "import time; held = b'x' * (70 << 20); time.sleep(1.5); print('held', flush=True)"
started = [subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE) for _ in range(10)]
print("BITTEN" if all(b"held" in each.communicate()[0] for each in started) else "ended")
