// A client on the TypeScript SDK 1.x (`@modelcontextprotocol/sdk`) as a subject of `mcp-workbench conformance`.
import * as providers from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { authorization } from './authorization.mjs';
import { EVENTS, answers, capabilities, notice, run, servers, setup } from './contract.mjs';

const clients = new Map();
const { authProvider, authorized } = authorization(providers);

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
      const client = new Client({ name: 'typescript-sdk-1', version: '1.0.0' }, { capabilities });
      if (capabilities.elicitation) client.setRequestHandler(types.ElicitRequestSchema, answers.elicitation);
      if (capabilities.sampling) client.setRequestHandler(types.CreateMessageRequestSchema, answers.sampling);
      if (capabilities.roots) client.setRequestHandler(types.ListRootsRequestSchema, answers.roots);
      for (const schema of types.ServerNotificationSchema.options) {
        const event = EVENTS[schema.shape.method.value];
        if (event) client.setNotificationHandler(schema, ({ params }) => notice(event, server, params));
      }
      client.onclose = () => clients.delete(server) && notice('disconnected', server);
      client.onerror = ({ message }) => notice('garbage', server, { reason: message });

      // The client tells the revision to its transport only.
      let revision;
      const tell = transport.setProtocolVersion?.bind(transport);
      transport.setProtocolVersion = (agreed) => {
        revision = agreed;
        tell?.(agreed);
      };
      await client.connect(transport, { timeout });
      clients.set(server, { client, transport });
      return {
        server,
        revision,
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

  call(server, name, args, { signal, timeout, ceiling }) {
    const onprogress = (progress) => notice('progress', server, progress);
    const options = { signal, timeout, maxTotalTimeout: ceiling, resetTimeoutOnProgress: true, onprogress };
    return used(server, ({ client }) => client.callTool({ name, arguments: args }, undefined, options));
  },

  rootsChanged: (connected) =>
    Promise.all(connected.map((server) => clients.get(server).client.sendRootsListChanged())),

  kindOf({ code }) {
    if (code === types.ErrorCode.RequestTimeout) return 'timed-out';
    if (code === types.ErrorCode.ConnectionClosed) return 'closed';
    return Number.isInteger(code) ? 'rpc-error' : 'rejected';
  },
});
