// A client on the TypeScript SDK 2.x (`@modelcontextprotocol/client`) as a subject of `mcp-workbench conformance`.
import * as providers from '@modelcontextprotocol/client';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { authorization } from './authorization.mjs';
import { EVENTS, answers, capabilities, notice, revision, run, servers, setup } from './contract.mjs';

const clients = new Map();
const { authProvider, authorized } = authorization(providers);
const modern = revision >= '2026-07-28';

/** Performs an action with the client of a server. */
const used = (server, action) =>
  authorized(() => clients.get(server).transport, () => action(clients.get(server)));

function open({ transport, command, url }) {
  const options = { requestInit: { headers: setup.headers }, authProvider };
  switch (transport) {
    case 'stdio':
      return new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env });
    case 'sse':
      return new SSEClientTransport(new URL(url), options);
    default:
      return new StreamableHTTPClientTransport(new URL(url), options);
  }
}

await run({
  connect(server, timeout) {
    let transport;
    return authorized(() => transport, async () => {
      transport = open(servers[server]);
      const client = new Client(
        { name: 'typescript-sdk-2', version: '1.0.0' },
        { capabilities, versionNegotiation: { mode: modern ? 'auto' : 'legacy' } },
      );
      if (capabilities.elicitation) client.setRequestHandler('elicitation/create', answers.elicitation);
      if (capabilities.sampling) client.setRequestHandler('sampling/createMessage', answers.sampling);
      if (capabilities.roots) client.setRequestHandler('roots/list', answers.roots);
      for (const [method, event] of Object.entries(EVENTS)) {
        client.setNotificationHandler(method, ({ params }) => notice(event, server, params));
      }
      client.onclose = () => clients.delete(server) && notice('disconnected', server);
      client.onerror = ({ message }) => notice('garbage', server, { reason: message });
      await client.connect(transport, { timeout });
      clients.set(server, { client, transport });
      return {
        server,
        revision: client.getNegotiatedProtocolVersion(),
        transport: servers[server].transport,
        server_info: client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
        instructions: client.getInstructions(),
      };
    });
  },

  async disconnect(server) {
    const { client, transport } = clients.get(server) ?? {};
    clients.delete(server);
    // A session that the server lost cannot be terminated.
    await transport?.terminateSession?.().catch(() => {});
    await client?.close();
  },

  declared: (server) => clients.get(server).client.getServerCapabilities(),

  request: (server, method, params, options) => used(server, ({ client }) => client[method](params, options)),

  call(server, name, args, { meta, signal, timeout, ceiling }) {
    const onprogress = (progress) => notice('progress', server, progress);
    const options = { signal, timeout, maxTotalTimeout: ceiling, resetTimeoutOnProgress: true, onprogress };
    return used(server, ({ client }) => client.callTool({ name, arguments: args, _meta: meta }, options));
  },

  subscribe: (server, uri) => used(server, ({ client }) => client.listen({ resourceSubscriptions: [uri] })),

  rootsChanged: (connected) =>
    Promise.all(connected.map((server) => clients.get(server).client.sendRootsListChanged())),

  kindOf({ code }) {
    if (code === 'REQUEST_TIMEOUT') return 'timed-out';
    if (code === 'CONNECTION_CLOSED') return 'closed';
    return Number.isInteger(code) ? 'rpc-error' : 'rejected';
  },
});
