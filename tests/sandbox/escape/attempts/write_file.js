// Write into a file outside.
const [OUT, TCP, UDP, VICTIM, TAG] = process.argv.slice(2);
require("fs").appendFileSync(OUT + "/target", "x");
