// An agent by the official JavaScript SDK, for our client.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const require = createRequire(process.argv[3] + '/');
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const { default: express } = await load('express');
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await load('@a2a-js/sdk/server');
const { agentCardHandler, jsonRpcHandler, UserBuilder } = await load('@a2a-js/sdk/server/express');
const { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } = await load('@a2a-js/sdk');

const port = Number(process.argv[2]);
const card = AgentCard.fromJSON({
  name: 'Weather',
  description: 'Knows the weather.',
  version: '1',
  supportedInterfaces: [{ url: `http://127.0.0.1:${port}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
});
const executor = {
  async execute(context, bus) {
    const ids = { taskId: context.taskId, contextId: context.contextId };
    const text = context.userMessage.parts.map((part) => part.content?.value ?? '').join('');
    const words = text === 'hello' ? 'Hello, world.' : `I heard: ${text}`;
    const status = (state) => ({ state, timestamp: new Date().toISOString() });
    bus.publish(AgentEvent.task(Task.fromJSON({ id: ids.taskId, contextId: ids.contextId, status: status('TASK_STATE_WORKING') })));
    const artifact = { artifactId: 'a', name: 'answer', parts: [{ text: words }] };
    bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({ ...ids, artifact, lastChunk: true })));
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ ...ids, status: status('TASK_STATE_COMPLETED') })));
    bus.finished();
  },
  async cancelTask() {},
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
const app = express();
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.listen(port, '127.0.0.1', () => console.log('listening'));
