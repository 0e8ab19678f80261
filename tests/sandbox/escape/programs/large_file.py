# A file of 100 MB.
with open("large", "wb") as file:
    for _ in range(100):
        file.write(bytes(1 << 20))
with open("large", "rb") as file:
    assert sum(len(part) for part in iter(lambda: file.read(1 << 20), b"")) == 100 << 20
print("fine")
