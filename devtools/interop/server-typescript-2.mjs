// The notebook on the TypeScript SDK 2.x, over one transport, in both eras: over HTTP with sessions where there is a
// handshake, as servers that grew up on 1.x do it.

import { randomUUID } from 'node:crypto';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
  acceptedContent,
  completable,
  createMcpHandler,
  inputRequired,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { asked, equip, form, listen } from './notebook.mjs';

/** In a result that asks for input. */
const askedAgain = ({ mcpReq }) => {
  const typed = acceptedContent(mcpReq.inputResponses, 'name');
  return typed ? { typed } : { instead: inputRequired({ inputRequests: { name: inputRequired.elicit(form) } }) };
};

/** By a request of the server's own. */
const askedAtOnce = async ({ mcpReq }) => {
  const { action, content } = await mcpReq.elicitInput(form);
  return { typed: action === 'accept' ? content : undefined };
};

const notebook = (era, state, changed) =>
  equip(new McpServer({ name: 'notebook-typescript-2', version: '1.0.0' }), {
    kit: { completable, ResourceTemplate, fields: z.object },
    z,
    ask: era === 'modern' ? askedAgain : askedAtOnce,
    notify: (context) => context.mcpReq.notify,
    changed,
    state,
  });

const sessions = new Map();

async function withSession(request, response, body) {
  const id = request.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (id !== undefined && transport === undefined) return void response.writeHead(404).end();
  if (transport === undefined) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await notebook('legacy', {}, () => {}).connect(transport);
  }
  await transport.handleRequest(request, response, body);
}

async function bodyOf(request) {
  if (request.method !== 'POST') return undefined;
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

const transports = {
  stdio: () => serveStdio(({ era }) => notebook(era, {}, () => {})),
  http: () => {
    const state = {};
    const options = { legacy: 'reject' };
    const modern = createMcpHandler(({ era }) => notebook(era, state, () => modern.notify.toolsChanged()), options);
    const handle = toNodeHandler(modern);
    listen('/mcp', async (request, response) => {
      const body = await bodyOf(request);
      const legacy = await isLegacyRequest(await toWebRequest(request, body));
      await (legacy ? withSession : handle)(request, response, body);
    });
  },
};

transports[asked(Object.keys(transports))]();
