// Send a datagram.
const [OUT, TCP, UDP, VICTIM, TAG] = process.argv.slice(2);
const s = require("dgram").createSocket("udp4"); s.send("x", +UDP, "127.0.0.1", () => s.close());
