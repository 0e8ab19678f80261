// Connect by TCP.
const [OUT, TCP, UDP, VICTIM, TAG] = process.argv.slice(2);
require("net").connect(+TCP, "127.0.0.1", function () { this.end("x"); });
