# Pack and unpack archives.
import tarfile
import zipfile

open("a.txt", "w").write("a" * 1000)
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as packed:
    packed.write("a.txt")
with zipfile.ZipFile("a.zip") as packed:
    packed.extractall("zip")
with tarfile.open("a.tar.gz", "w:gz") as packed:
    packed.add("a.txt")
with tarfile.open("a.tar.gz") as packed:
    packed.extractall("tar", filter="data") if hasattr(tarfile, "data_filter") else packed.extractall("tar")
assert open("zip/a.txt").read() == open("tar/a.txt").read()
print("fine")
