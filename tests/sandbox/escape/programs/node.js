// Files, a child process, timers, hashes and much memory.
const assert = require("assert"), fs = require("fs"), os = require("os"), path = require("path");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "x-"));
fs.writeFileSync(path.join(folder, "a"), "1");
assert.equal(fs.readFileSync(path.join(folder, "a"), "utf8"), "1");
assert.equal(require("child_process").execFileSync("sh", ["-c", "echo 3"]).toString(), "3\n");
assert.equal(require("crypto").createHash("sha256").update("").digest("hex").slice(0, 4), "e3b0");
const large = Array.from({ length: 1e6 }, (_, n) => n * 2);
setTimeout(() => { assert.equal(large.reduce((a, b) => Math.max(a, b)), 1999998); console.log("fine"); }, 5);
