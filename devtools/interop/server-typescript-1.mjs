// The notebook on the TypeScript SDK 1.x, over one transport.

import { randomUUID } from 'node:crypto';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { asked, equip, form, listen, pathOf } from './notebook.mjs';

const notebook = () =>
  equip(new McpServer({ name: 'notebook-typescript-1', version: '1.0.0' }), {
    kit: { completable, ResourceTemplate, fields: (fields) => fields },
    z,
    ask: async (context, server) => {
      const { action, content } = await server.server.elicitInput(form, { relatedRequestId: context.requestId });
      return { typed: action === 'accept' ? content : undefined };
    },
    notify: (context) => context.sendNotification,
    changed: () => {},
    state: {},
  });

const sessions = new Map();

const transports = {
  stdio: () => notebook().connect(new StdioServerTransport()),
  http: () =>
    listen('/mcp', async (request, response) => {
      const id = request.headers['mcp-session-id'];
      let transport = sessions.get(id);
      if (id !== undefined && transport === undefined) return void response.writeHead(404).end();
      if (transport === undefined) {
        transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized: (id) => void sessions.set(id, transport),
          onsessionclosed: (id) => void sessions.delete(id),
        });
        await notebook().connect(transport);
      }
      await transport.handleRequest(request, response);
    }),
  sse: () =>
    listen('/sse', async (request, response) => {
      const { method } = request;
      if (method === 'GET' && pathOf(request) === '/sse') {
        const transport = new SSEServerTransport('/message', response);
        sessions.set(transport.sessionId, transport);
        return notebook().connect(transport);
      }
      const id = new URL(request.url, 'http://127.0.0.1').searchParams.get('sessionId');
      const transport = pathOf(request) === '/message' ? sessions.get(id) : undefined;
      if (method !== 'POST' || transport === undefined) return void response.writeHead(404).end();
      await transport.handlePostMessage(request, response);
    }),
};

transports[asked(Object.keys(transports))]();
