// Runs named steps, one after another, and tells in one line of JSON what each saw. What a step should have seen is for
// `cargo xtask interop` to judge; here a step fails only if it throws, or takes too long.

const LIMIT = 15_000;

/** A step that is never answered must not keep the others from being tried. */
function bounded(work, name) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} took longer than ${LIMIT} ms`)), LIMIT);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Runs the steps; the first one has to succeed. Prints the report and ends the process. */
export async function report(sdk, steps) {
  const seen = {};
  const failed = {};
  for (const [name, step] of Object.entries(steps)) {
    try {
      seen[name] = (await bounded(step(), name)) ?? null;
    } catch (error) {
      failed[name] = String(error?.stack ?? error);
      if (Object.keys(seen).length === 0) break;
    }
  }
  process.stdout.write(`${JSON.stringify({ sdk, seen, failed })}\n`, () => {
    process.exit(Object.keys(failed).length === 0 ? 0 : 1);
  });
}

/** `<transport> <era> <url>` or `stdio <era> <command> [arguments…]`. */
export function target() {
  const [transport, era, ...rest] = process.argv.slice(2);
  if (!rest.length || !['stdio', 'http', 'sse'].includes(transport) || !['legacy', 'modern'].includes(era)) {
    console.error('usage: <program> stdio|http|sse legacy|modern <url | command [arguments…]>');
    process.exit(2);
  }
  return { transport, era, url: rest[0], command: rest[0], args: rest.slice(1) };
}

/** What the user of the tests types, by the names of the fields. The judge knows it. */
const typed = { username: 'ada', email: 'ada@example.com', name: 'Ada', color: 'teal' };

/** What the user, the model and the host of the tests answer. */
export const answers = {
  elicitation: ({ params }) => {
    const asked = Object.keys(params.requestedSchema.properties);
    return { action: 'accept', content: Object.fromEntries(asked.map((field) => [field, typed[field]])) };
  },
  sampling: () => ({
    role: 'assistant',
    model: 'interop-model',
    stopReason: 'endTurn',
    content: { type: 'text', text: 'sampled by interop' },
  }),
  roots: () => ({ roots: [{ uri: 'file:///interop', name: 'interop' }] }),
};

/** The text of a result of a tool. */
export const text = (result) => result.content[0].text;

/** The log messages that the logging tool of the tests sends. */
export const ofLoggingTool = (logged) => logged.filter((data) => String(data).startsWith('Tool '));

/** What both major versions of the TypeScript SDK are asked in the same words, in either era. */
export const plainSteps = (client) => ({
  'call-text': async () => text(await client.callTool({ name: 'test_simple_text', arguments: {} })),
  'call-structured': async () => {
    const result = await client.callTool({ name: 'test_structured_content', arguments: { city: 'Oslo' } });
    return result.structuredContent;
  },
  'call-error': async () => {
    const result = await client.callTool({ name: 'test_error_handling', arguments: {} });
    return { isError: result.isError, text: text(result) };
  },
  'read-resource': async () => (await client.readResource({ uri: 'test://static-text' })).contents[0].text,
  'read-blob': async () => (await client.readResource({ uri: 'test://static-binary' })).contents[0].mimeType,
  'read-template': async () => (await client.readResource({ uri: 'test://template/7/data' })).contents[0].text,
  'get-prompt': async () => {
    const args = { arg1: 'hello', arg2: 'world' };
    const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: args });
    return prompt.messages[0].content.text;
  },
  complete: async () => {
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
    return (await client.complete({ ref, argument: { name: 'arg1', value: 'par' } })).completion.values;
  },
});

/** What servers with a handshake ask of their clients, and clients of them. `call` gives the text of a tool's result. */
export const stepsWithHandshake = (client, call, logged) => ({
  elicitation: () => call('test_elicitation', { message: 'Who are you?' }),
  sampling: () => call('test_sampling', { prompt: 'Say something' }),
  roots: () => call('test_list_roots'),
  logging: async () => {
    await client.setLoggingLevel('debug');
    logged.length = 0;
    await call('test_tool_with_logging');
    return ofLoggingTool(logged);
  },
  ping: () => client.ping(),
});
