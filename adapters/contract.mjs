// The contract of mcp-workbench for clients in JavaScript (docs/clients.md): runs the steps of a case and reports them.
// An SDK's adapter implements `connect`, `disconnect`, `declared` (the capabilities of a server), `request` (a method of the SDK's client) and `call`, for
// 2026-07-28 also `subscribe`, and calls `notice` for what it observes.
import { appendFileSync } from 'node:fs';

export const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT);
export const { servers, steps, client: setup, transport, revision, report } = context;

const now = () => Number(process.hrtime.bigint() / 1000n);
const write = (line) => appendFileSync(report, `${JSON.stringify(line)}\n`);

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** Milliseconds of a duration such as `1s 500ms`; undefined without one. */
export const ms = (text) =>
  text && [...text.matchAll(/(\d+)\s*([a-z]+)/g)].reduce((sum, [, count, unit]) => sum + count * UNITS[unit], 0);

const user = setup.user ?? {};
const url = user.url && { url: {} };
/** The capabilities that the scenario's user needs. */
export const capabilities = {
  ...((user.form || user.url) && { elicitation: { ...(user.form && { form: {} }), ...url } }),
  ...(user.sampling !== undefined && { sampling: {} }),
  ...(user.roots && { roots: { listChanged: true } }),
};
let roots = user.roots;

/** Waits for the user to respond. */
const considered = () => new Promise((resolve) => setTimeout(resolve, ms(user.delay) ?? 0));

/** The user's answers to requests of servers. */
export const answers = {
  async elicitation({ params }) {
    await considered();
    if (params.mode === 'url') return { action: user.url };
    // Nobody answers if the user is absent.
    if (!user.form?.accept) return { action: user.form === 'absent' ? 'cancel' : user.form };
    const fields = Object.entries(params.requestedSchema.properties).filter(([, field]) => field.default !== undefined);
    const defaults = Object.fromEntries(fields.map(([name, field]) => [name, field.default]));
    return { action: 'accept', content: { ...defaults, ...user.form.accept } };
  },
  async sampling() {
    await considered();
    const content = { type: 'text', text: user.sampling };
    return { role: 'assistant', model: 'model', stopReason: 'endTurn', content };
  },
  roots: () => ({ roots }),
};

const noticed = [];
let wake = () => {};

/** Notifications of servers, with the events that they are. */
export const EVENTS = {
  'notifications/tools/list_changed': 'tools-changed',
  'notifications/prompts/list_changed': 'prompts-changed',
  'notifications/resources/list_changed': 'resources-changed',
  'notifications/resources/updated': 'resource-updated',
  'notifications/message': 'log',
};

/** Reports an event: one of `EVENTS`, `disconnected`, `progress` or `garbage`. */
export function notice(event, server, detail = {}) {
  write({ event: { at_us: now(), event, server, detail } });
  noticed.push({ event, server, detail });
  wake();
}

async function awaited({ event, server, within }) {
  const deadline = Date.now() + (ms(within) ?? 2_000);
  for (;;) {
    const found = noticed.findIndex((one) => one.event === event && (!server || one.server === server));
    if (found >= 0) return noticed.splice(found, 1)[0].detail;
    if (Date.now() >= deadline) throw Object.assign(new Error(`no ${event}`), { kind: 'timed-out' });
    await new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, deadline - Date.now());
    });
  }
}

export class Skipped extends Error {}

/** The lists: the method of the SDK, the member of its result, and the capability. */
const LISTS = {
  tools: ['listTools', 'tools', 'tools'],
  resources: ['listResources', 'resources', 'resources'],
  'resource-templates': ['listResourceTemplates', 'resourceTemplates', 'resources'],
  prompts: ['listPrompts', 'prompts', 'prompts'],
};

/** Runs the steps. `kindOf` names the kind of an SDK's error. */
export async function run({ connect, disconnect, declared, request, call, subscribe, rootsChanged, kindOf }) {
  const connected = new Set();
  const started = new Map();
  const every = Object.keys(servers);
  const one = (options) => options.server ?? every[0];

  const open = async (server, timeout) => {
    const value = await connect(server, ms(timeout ?? setup.startup_timeout));
    connected.add(server);
    return value;
  };
  const close = async (server) => {
    connected.delete(server);
    await disconnect(server);
    return { ended: true };
  };
  const list = async (server, kind) => {
    const [method, member, capability] = LISTS[kind];
    const listed = [];
    let page = declared(server)?.[capability] ? {} : undefined;
    for (let pages = 0; page; pages += 1) {
      if (pages === (setup.max_pages ?? 1_000)) throw new Error('the list has too many pages');
      const { [member]: some, nextCursor } = await request(server, method, page, { timeout: ms(setup.call_timeout) });
      listed.push(...some);
      page = nextCursor === undefined ? undefined : { cursor: nextCursor };
    }
    return listed;
  };
  /** Fails if the server does not declare a capability. */
  const check = (options, capability) => {
    const [feature, part] = capability.split('.');
    const found = declared(one(options))?.[feature];
    if (!(part ? found?.[part] : found)) throw new Error(`the server does not declare ${capability}`);
  };
  const asking = (capability, method, params) => async (options) => {
    check(options, capability);
    return request(one(options), method, params(options), { timeout: ms(setup.call_timeout) });
  };
  /** The subscriptions to resources, and the metadata of calls (2026-07-28). */
  const subscriptions = new Map();
  let meta;
  /** What 2026-07-28 has instead of requests: subscriptions, and the log level in each call. */
  const modern = {
    subscribe: async (options) => {
      check(options, 'resources.subscribe');
      subscriptions.set(options.uri, await subscribe(one(options), options.uri));
    },
    unsubscribe: async ({ uri }) => {
      await subscriptions.get(uri).close();
    },
    'log-level': ({ level }) => {
      meta = { 'io.modelcontextprotocol/logLevel': level };
    },
  };
  const itemsOf = (kind) => async (options) => ({ [LISTS[kind][1]]: await list(one(options), kind) });
  const calling = (options, signal) =>
    call(one(options), options.tool, options.arguments, {
      meta,
      signal,
      timeout: ms(options.timeout ?? setup.call_timeout),
      ceiling: ms(options.ceiling ?? setup.call_ceiling),
    });

  const actions = {
    connect: async (options) => {
      if (options.server || every.length === 1) return open(one(options), options.timeout);
      const failed = [];
      const attempt = (server) =>
        open(server, options.timeout).catch((error) => failed.push({ server, kind: kindOf(error), message: error.message }));
      await Promise.all(every.map(attempt));
      return { connected: [...connected].map((server) => ({ server })), failed };
    },
    list: async ({ server }) => {
      const listed = [];
      for (const from of server ? [server] : connected) {
        listed.push(...(await list(from, 'tools')).map((tool) => ({ ...tool, server: from })));
      }
      return { tools: listed, rejected: [] };
    },
    resources: itemsOf('resources'),
    'resource-templates': itemsOf('resource-templates'),
    prompts: itemsOf('prompts'),
    read: asking('resources', 'readResource', ({ uri }) => ({ uri })),
    subscribe: asking('resources.subscribe', 'subscribeResource', ({ uri }) => ({ uri })),
    unsubscribe: asking('resources.subscribe', 'unsubscribeResource', ({ uri }) => ({ uri })),
    prompt: asking('prompts', 'getPrompt', ({ name, arguments: values }) => ({ name, arguments: values })),
    complete: asking('completions', 'complete', ({ prompt, template, argument, value, context }) => ({
      ref: prompt === undefined ? { type: 'ref/resource', uri: template } : { type: 'ref/prompt', name: prompt },
      argument: { name: argument, value },
      ...(context && { context: { arguments: context } }),
    })),
    'log-level': asking('logging', 'setLoggingLevel', ({ level }) => level),
    call: (options) => calling(options),
    start: (options) => {
      const abort = new AbortController();
      const result = calling(options, abort.signal);
      result.catch(() => {});
      started.set(options.as, { abort, result });
      return null;
    },
    finish: (options) => started.get(options.call).result,
    cancel: async (options) => {
      const { abort, result } = started.get(options.call);
      abort.abort();
      return result.catch(({ message }) => Promise.reject(Object.assign(new Error(message), { kind: 'cancelled' })));
    },
    await: awaited,
    disconnect: async ({ server }) => {
      for (const from of server ? [server] : [...connected]) await close(from);
      return { ended: true };
    },
    reconnect: async (options) => {
      if (connected.has(one(options))) await close(one(options));
      return open(one(options));
    },
    roots: (options) => {
      roots = options.roots;
      // Servers of 2026-07-28 are not notified: they request the roots when they need them.
      return revision < '2026-07-28' && rootsChanged([...connected]);
    },
    ...(revision >= '2026-07-28' && modern),
  };

  const perform = async (step, server, action) => {
    const began_us = now();
    let outcome;
    try {
      outcome = { value: (await action()) ?? null };
    } catch (error) {
      const { message, code, kind = kindOf(error) } = error;
      outcome = { error: { kind, message: String(message), ...(Number.isInteger(code) && { code }) } };
      if (error instanceof Skipped) outcome = { skipped: message };
    }
    write({ step: { step, server, began_us, ended_us: now(), outcome } });
  };

  if (!steps.some((step) => step.connect)) {
    for (const server of every) await perform(null, server, () => open(server));
  }
  for (const [index, step] of steps.entries()) {
    const [[kind, options]] = Object.entries(step);
    const unknown = () => {
      throw new Skipped(`an SDK has no \`${kind}\``);
    };
    const action = options.qualified ? unknown : (actions[kind] ?? unknown);
    await perform(index, options.server ?? (every.length === 1 ? every[0] : undefined), () => action(options));
  }
  for (const server of [...connected]) await perform(null, server, () => close(server));
  process.exit(0);
}
