# Start programs, read what they say, and end one of them.
import subprocess
import sys

assert subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True).stdout == "42\n"
assert subprocess.run("echo a | tr a b", shell=True, capture_output=True, text=True).stdout == "b\n"
own_session = subprocess.Popen(["sleep", "0.1"], start_new_session=True)
assert own_session.wait(10) == 0
print("fine")
