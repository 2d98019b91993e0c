// A small server, the same on both major versions of the TypeScript SDK: a notebook that can add. The sources that differ
// give it what they have: `kit` are classes and functions of the SDK, `asking` how it reaches the user.

import { createServer } from 'node:http';

const days = ['monday', 'tuesday', 'wednesday'];
const text = (text) => ({ content: [{ type: 'text', text }] });

/**
 * Gives a server its tools, resources and prompts.
 *
 * `ask` gives what the user has `typed`, or what to return `instead` to have it asked; `notify` gives what sends a
 * notification that belongs to the request; `changed` tells that there is another tool, where the SDK does not by itself.
 */
export function equip(server, { kit, z, ask, notify, changed, state }) {
  const city = { city: z.string() };
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    async ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
  );
  server.registerTool('fail', { description: 'Fails', inputSchema: z.object(city) }, async ({ city }) => ({
    ...text(`nothing is known of ${city}`),
    isError: true,
  }));
  server.registerTool(
    'count',
    { description: 'Counts aloud', inputSchema: z.object({ to: z.number() }) },
    async ({ to }, context) => {
      const { progressToken } = (context.mcpReq ?? context)._meta ?? {};
      for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
        await notify(context)({ method: 'notifications/progress', params: { progressToken, progress, total: to } });
      }
      return text(`counted to ${to}`);
    },
  );
  server.registerTool('greet', { description: 'Greets by the name that it asks for' }, async (...given) => {
    const context = given.at(-1);
    const { typed, instead } = await ask(context, server);
    return instead ?? text(typed ? `Hello, ${typed.name}!` : 'Nobody to greet');
  });
  const grown = () => server.registerTool('grown', { description: 'Is new' }, async () => text('I am new'));
  if (state.grown) grown();
  server.registerTool('grow', { description: 'Adds a tool' }, async () => {
    if (!state.grown) {
      state.grown = true;
      grown();
      changed();
    }
    return text('there is one more');
  });

  const note = (uri, day) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `Nothing on ${day}` }] });
  server.registerResource('today', 'note://today', { mimeType: 'text/plain' }, async (uri) => note(uri, 'this day'));
  const complete = { day: (begun) => days.filter((day) => day.startsWith(begun)) };
  const template = new kit.ResourceTemplate('note://day/{day}', { list: undefined, complete });
  server.registerResource('of a day', template, {}, async (uri, { day }) => note(uri, day));
  const named = kit.completable(z.string(), (begun) => ['ada', 'adam', 'eve'].filter((name) => name.startsWith(begun)));
  server.registerPrompt('letter', { argsSchema: kit.fields({ to: named }) }, async ({ to }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Write a letter to ${to}` } }],
  }));
  return server;
}

/** What the user is asked. */
export const form = {
  message: 'Who is there?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};

/** Listens where the system likes, and says where. */
export function listen(path, handler) {
  const http = createServer((request, response) => {
    Promise.resolve(handler(request, response)).catch((error) => {
      console.error(error);
      if (!response.headersSent) response.writeHead(500).end();
    });
  });
  http.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${http.address().port}${path}`));
}

/** The path of a request. */
export const pathOf = (request) => new URL(request.url, 'http://127.0.0.1').pathname;

/** The transport that was asked for. */
export function asked(transports) {
  const transport = process.argv[2];
  if (!transports.includes(transport)) {
    console.error(`usage: <program> ${transports.join('|')}`);
    process.exit(2);
  }
  return transport;
}
