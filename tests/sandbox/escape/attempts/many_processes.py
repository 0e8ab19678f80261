# Start more processes than the limit.
import subprocess
import sys
import time

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
started = []
for _ in range(120):
    started.append(subprocess.Popen(["sleep", "3"]))
time.sleep(1)
print("BITTEN" if all(each.poll() is None for each in started) else "held")
for each in started:
    each.kill()
    each.wait()
