# Leave a program that runs as its owner, made so at once.
import os
import sys

OUT, TCP, UDP, VICTIM, TAG = sys.argv[1:]
os.umask(0)
os.open("left", os.O_CREAT | os.O_WRONLY, 0o4755)
