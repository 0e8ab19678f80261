# Temporary files and folders, copied with their modes and times.
import os
import shutil
import tempfile

with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(dir=folder) as file:
    file.write(b"x")
    file.flush()
    shutil.copy2(file.name, "copy")
    shutil.copytree(folder, "tree")
assert os.path.getsize("copy") == 1
shutil.rmtree("tree")
print("fine")
