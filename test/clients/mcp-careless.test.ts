import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* Servers that were written without an SDK: null where a member is absent, and schemas that are none of an object. */

const object = { type: 'object' };
const tools = [
  { name: 'right', description: 'Right.', inputSchema: { ...object, properties: { a: { type: 'string' } } } },
  {
    name: 'nulls',
    title: null,
    description: null,
    annotations: null,
    outputSchema: null,
    _meta: null,
    inputSchema: object,
  },
  { name: 'untyped', inputSchema: { properties: { a: true, b: { type: 'number' } }, required: ['b', 1] } },
  { name: 'none', inputSchema: null },
  { name: 'either', inputSchema: { type: ['object', 'null'], properties: null } },
  { name: 'list', inputSchema: object, outputSchema: { type: 'array', items: object } },
];
const prompts = [{ name: 'p', title: null, description: null, arguments: [{ name: 'x', required: true }] }];
const result = {
  structuredContent: null,
  isError: null,
  content: [{ type: 'text', text: 'ok', annotations: null }],
};

function answerTo(method: string, version: string): object {
  if (method === 'tools/list') return { tools, nextCursor: null };
  if (method === 'prompts/list') return { prompts };
  if (method === 'tools/call') return result;
  const capabilities = { tools: {}, prompts: {} };
  return { protocolVersion: version, capabilities, serverInfo: { name: 'careless', version: '1' } };
}

test('tools of a server that writes null and wrong schemas hide no other tool from strict clients', async (t) => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    if (id === undefined) return response.writeHead(202).end();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: answerTo(method, params?.protocolVersion) }));
  });
  const url = `${await listening(t, server)}/mcp`;
  const gateway = await startGateway(t, { mcp: { servers: { careless: { url } } } });
  const client = new Client({ name: 'strict', version: '1' });
  t.after(() => client.close());
  const headers = { authorization: `Bearer ${gateway.key}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit: { headers } }));

  const listed = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]));
  assert.ok(listed.has('scrape'));
  const theirs = tools.map(({ name }) => listed.get(`careless__${name}`)!);
  assert.deepEqual(theirs[0]!.inputSchema, tools[0]!.inputSchema);
  assert.deepEqual(Object.keys(theirs[1]!).sort(), ['inputSchema', 'name']);
  assert.deepEqual(theirs[2]!.inputSchema, {
    type: 'object',
    properties: { a: {}, b: { type: 'number' } },
    required: ['b'],
  });
  for (const tool of theirs.slice(3)) assert.equal(tool.inputSchema.type, 'object');
  assert.equal(theirs[5]!.outputSchema, undefined);
  assert.deepEqual((await client.listPrompts()).prompts, [
    { name: 'careless__p', arguments: [{ name: 'x', required: true }] },
  ]);
  const called = await client.callTool({ name: 'careless__nulls', arguments: {} });
  assert.deepEqual(called, { content: [{ type: 'text', text: 'ok' }] });
});
