// The TypeScript SDK 1.x as a client: every feature that it has, once, over one transport.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { answers, report, target } from './steps.mjs';

const to = target();
const transport = {
  stdio: () => new StdioClientTransport({ command: to.command, args: to.args }),
  http: () => new StreamableHTTPClientTransport(new URL(to.url)),
  sse: () => new SSEClientTransport(new URL(to.url)),
}[to.transport]();

// The client keeps the revision that was agreed on to itself, but tells its transport.
let agreed = null;
const tell = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (revision) => {
  agreed = revision;
  tell?.(revision);
};

const client = new Client(
  { name: 'interop-typescript-1', version: '1.0.0' },
  { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
);
const logged = [];
client.setRequestHandler(ElicitRequestSchema, answers.elicitation);
client.setRequestHandler(CreateMessageRequestSchema, answers.sampling);
client.setRequestHandler(ListRootsRequestSchema, answers.roots);
client.setNotificationHandler(LoggingMessageNotificationSchema, (message) => void logged.push(message.params.data));

const text = (result) => result.content[0].text;
const call = async (name, args = {}) => text(await client.callTool({ name, arguments: args }));

/** All pages of a list. */
async function all(list, key) {
  const items = [];
  let cursor;
  do {
    const page = await list(cursor === undefined ? {} : { cursor });
    items.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}

await report('typescript-1', {
  connect: async () => {
    await client.connect(transport);
    return agreed;
  },
  'list-tools': async () => (await all((page) => client.listTools(page), 'tools')).map((tool) => tool.name),
  'call-text': () => call('test_simple_text'),
  'call-structured': async () => {
    const result = await client.callTool({ name: 'test_structured_content', arguments: { city: 'Oslo' } });
    return result.structuredContent;
  },
  'call-error': async () => {
    const result = await client.callTool({ name: 'test_error_handling', arguments: {} });
    return { isError: result.isError, text: text(result) };
  },
  'list-resources': async () => (await all((page) => client.listResources(page), 'resources')).map(({ uri }) => uri),
  'read-resource': async () => (await client.readResource({ uri: 'test://static-text' })).contents[0].text,
  'read-blob': async () => (await client.readResource({ uri: 'test://static-binary' })).contents[0].mimeType,
  'list-templates': async () =>
    (await all((page) => client.listResourceTemplates(page), 'resourceTemplates')).map((each) => each.uriTemplate),
  'read-template': async () => (await client.readResource({ uri: 'test://template/7/data' })).contents[0].text,
  'list-prompts': async () => (await all((page) => client.listPrompts(page), 'prompts')).map(({ name }) => name),
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
    await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, options);
    return steps;
  },
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
  close: () => client.close(),
});
