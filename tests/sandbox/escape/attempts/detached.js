// Leave a process behind.
const [OUT, TCP, UDP, VICTIM, TAG] = process.argv.slice(2);
require("child_process").spawn("sleep", ["97"], {detached: true, stdio: "ignore", env: {TAG, PATH: process.env.PATH}}).unref();
