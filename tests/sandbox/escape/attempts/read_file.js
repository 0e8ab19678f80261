// Read a file outside.
const [OUT, TCP, UDP, VICTIM, TAG] = process.argv.slice(2);
console.log(require("fs").readFileSync(OUT + "/secret", "utf8"));
