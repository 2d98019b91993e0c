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
import { answers, plainSteps, report, stepsWithHandshake, target, text } from './steps.mjs';

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
  'list-resources': async () => (await all((page) => client.listResources(page), 'resources')).map(({ uri }) => uri),
  'list-templates': async () =>
    (await all((page) => client.listResourceTemplates(page), 'resourceTemplates')).map((each) => each.uriTemplate),
  'list-prompts': async () => (await all((page) => client.listPrompts(page), 'prompts')).map(({ name }) => name),
  ...plainSteps(client),
  progress: async () => {
    const steps = [];
    const options = { onprogress: ({ progress }) => void steps.push(progress) };
    await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, undefined, options);
    return steps;
  },
  ...stepsWithHandshake(client, call, logged),
  close: () => client.close(),
});
