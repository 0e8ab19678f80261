// Remove a folder outside with all that is in it.
const [OUT, TCP, UDP, VICTIM, TAG] = process.argv.slice(2);
require("fs").rmSync(OUT + "/readable", {recursive: true, force: true});
