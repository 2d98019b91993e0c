// The TypeScript SDK 2.x as a client: every feature that it has, once, over one transport, in either era.

import { Client, LOG_LEVEL_META_KEY, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answers, ofLoggingTool, plainSteps, report, stepsWithHandshake, target, text } from './steps.mjs';

const to = target();
const modern = to.era === 'modern';
const transport = {
  stdio: () => new StdioClientTransport({ command: to.command, args: to.args }),
  http: () => new StreamableHTTPClientTransport(new URL(to.url)),
  sse: () => new SSEClientTransport(new URL(to.url)),
}[to.transport]();

const client = new Client(
  { name: 'interop-typescript-2', version: '1.0.0' },
  {
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    // `auto` asks with server/discover first, so a server of both eras is spoken to in the modern one.
    versionNegotiation: { mode: modern ? 'auto' : 'legacy' },
  },
);
const logged = [];
client.setRequestHandler('elicitation/create', answers.elicitation);
client.setRequestHandler('sampling/createMessage', answers.sampling);
client.setRequestHandler('roots/list', answers.roots);
client.setNotificationHandler('notifications/message', (message) => void logged.push(message.params.data));

const call = async (name, args = {}, _meta) => text(await client.callTool({ name, arguments: args, _meta }));

/** Waits until a change of the list of tools is told, having asked for it. */
async function listChanged() {
  const told = new Promise((resolve) => {
    client.setNotificationHandler('notifications/tools/list_changed', () => resolve('told'));
  });
  const subscription = await client.listen({ toolsListChanged: true });
  await call('test_trigger_tool_change');
  const outcome = await told;
  await subscription.close();
  return outcome;
}

/** What only one of the eras has. */
const ofEra = modern
  ? {
      elicitation: () => call('test_input_required_result_elicitation'),
      sampling: () => call('test_input_required_result_sampling'),
      roots: () => call('test_input_required_result_list_roots'),
      'several-inputs': () => call('test_input_required_result_multiple_inputs'),
      'several-rounds': () => call('test_input_required_result_multi_round'),
      logging: async () => {
        await call('test_tool_with_logging', {}, { [LOG_LEVEL_META_KEY]: 'debug' });
        return ofLoggingTool(logged);
      },
      'list-changed': listChanged,
    }
  : stepsWithHandshake(client, call, logged);

await report('typescript-2', {
  connect: async () => {
    await client.connect(transport);
    return client.getNegotiatedProtocolVersion();
  },
  // A list without a cursor is read to its end by the SDK itself.
  'list-tools': async () => (await client.listTools()).tools.map((tool) => tool.name),
  'list-resources': async () => (await client.listResources()).resources.map((resource) => resource.uri),
  'list-templates': async () =>
    (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate),
  'list-prompts': async () => (await client.listPrompts()).prompts.map((prompt) => prompt.name),
  ...plainSteps(client),
  progress: async () => {
    const steps = [];
    const options = { onprogress: ({ progress }) => void steps.push(progress) };
    await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, options);
    return steps;
  },
  ...ofEra,
  close: () => client.close(),
});
