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
