// The TypeScript SDK 2.x as a client: every feature that it has, once, over one transport, in either era.

import { Client, LOG_LEVEL_META_KEY, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answers, report, target } from './steps.mjs';

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

const text = (result) => result.content[0].text;
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
        return logged.filter((data) => String(data).startsWith('Tool '));
      },
      'list-changed': listChanged,
    }
  : {
      elicitation: () => call('test_elicitation', { message: 'Who are you?' }),
      sampling: () => call('test_sampling', { prompt: 'Say something' }),
      roots: () => call('test_list_roots'),
      logging: async () => {
        await client.setLoggingLevel('debug');
        logged.length = 0;
        await call('test_tool_with_logging');
        return logged.filter((data) => String(data).startsWith('Tool '));
      },
      ping: () => client.ping(),
    };

await report('typescript-2', {
  connect: async () => {
    await client.connect(transport);
    return client.getNegotiatedProtocolVersion();
  },
  // A list without a cursor is read to its end by the SDK itself.
  'list-tools': async () => (await client.listTools()).tools.map((tool) => tool.name),
  'call-text': () => call('test_simple_text'),
  'call-structured': async () => {
    const result = await client.callTool({ name: 'test_structured_content', arguments: { city: 'Oslo' } });
    return result.structuredContent;
  },
  'call-error': async () => {
    const result = await client.callTool({ name: 'test_error_handling', arguments: {} });
    return { isError: result.isError, text: text(result) };
  },
  'list-resources': async () => (await client.listResources()).resources.map((resource) => resource.uri),
  'read-resource': async () => (await client.readResource({ uri: 'test://static-text' })).contents[0].text,
  'read-blob': async () => (await client.readResource({ uri: 'test://static-binary' })).contents[0].mimeType,
  'list-templates': async () =>
    (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate),
  'read-template': async () => (await client.readResource({ uri: 'test://template/7/data' })).contents[0].text,
  'list-prompts': async () => (await client.listPrompts()).prompts.map((prompt) => prompt.name),
  'get-prompt': async () => {
    const args = { arg1: 'hello', arg2: 'world' };
    const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: args });
    return prompt.messages[0].content.text;
  },
  complete: async () => {
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
    return (await client.complete({ ref, argument: { name: 'arg1', value: 'par' } })).completion.values;
  },
  progress: async () => {
    const steps = [];
    const options = { onprogress: ({ progress }) => void steps.push(progress) };
    await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, options);
    return steps;
  },
  ...ofEra,
  close: () => client.close(),
});
