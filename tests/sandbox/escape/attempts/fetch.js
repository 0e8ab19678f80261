// Fetch a page.
const [OUT, TCP, UDP, VICTIM, TAG] = process.argv.slice(2);
fetch("http://127.0.0.1:" + TCP, {signal: AbortSignal.timeout(500)}).catch(() => {});
