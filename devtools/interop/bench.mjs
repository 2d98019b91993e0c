// The TypeScript SDK 2.x under load: calls for as long as each line of standard input says (milliseconds), and answers each
// with a line of figures. It ends when its input does.

import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const own = process.argv.slice(2);
const dashes = own.indexOf('--');
const [command, ...args] = dashes < 0 ? [] : own.slice(dashes + 1);
const option = (name) => own[own.indexOf(name) + 1];
const transport = command
  ? new StdioClientTransport({ command, args })
  : new StreamableHTTPClientTransport(new URL(option('--url')));
const mode = option('--revision') >= '2026-07-28' ? 'auto' : 'legacy';
const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } });
await client.connect(transport);

const inFlight = Number(option('--in-flight'));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function round(ms) {
  let stop = false;
  let made = 0;
  const user = async () => {
    while (!stop) {
      const result = await client.callTool({ name: 'echo', arguments: { text: 'hello' } });
      if (result.content[0].text !== 'hello') throw new Error(`not the answer: ${JSON.stringify(result)}`);
      made += 1;
    }
  };
  const users = Array.from({ length: inFlight }, user);
  await sleep(ms / 5);
  const [before, began, spent] = [made, performance.now(), process.cpuUsage()];
  await sleep(ms);
  const cpu = process.cpuUsage(spent);
  const figures = { calls: made - before, seconds: (performance.now() - began) / 1000, cpu_us: cpu.user + cpu.system };
  stop = true;
  await Promise.all(users);
  return figures;
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await round(Number(line))));
}
await client.close();
