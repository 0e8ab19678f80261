// The official JavaScript client: sends, streams and gets at an address. What it prints is read by a test.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const require = createRequire(process.argv[3] + '/');
const { ClientFactory } = await import(pathToFileURL(require.resolve('@a2a-js/sdk/client')));
const client = await new ClientFactory().createFromUrl(process.argv[2]);
const message = (id, text) => ({ message: { messageId: id, role: 1, parts: [{ content: { $case: 'text', value: text } }] } });
const told = {};
const sent = await client.sendMessage({ tenant: '', metadata: {}, ...message('js-1', 'Hi') });
told.sent = sent;
told.kinds = [];
for await (const event of client.sendMessageStream({ tenant: '', metadata: {}, ...message('js-2', 'Stream') })) {
  told.kinds.push(event.payload?.$case ?? event.kind ?? Object.keys(event)[0]);
}
told.got = await client.getTask({ tenant: '', id: sent.id ?? sent.task?.id });
console.log(JSON.stringify(told));
