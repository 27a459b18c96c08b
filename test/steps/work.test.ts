import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { quietIn, quietOut, shoutStep } from './shout-step.ts';

/** Pages, searches, calls of MCP servers and of the vector store pass the steps. */
const paths: string[] = [];
const site = createServer((request, response) => {
  paths.push(request.url ?? '');
  response.setHeader('content-type', 'text/html');
  response.end(`<title>A page</title><main><p>Here it says ${quietOut}, in a sentence of some length.</p></main>`);
});
await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
after(() => site.close());
const place = `127.0.0.1:${(site.address() as AddressInfo).port}`;
const mcp = await startMcpServer({ after }, { tools: [quietOut] });
const step = shoutStep();
const gateway = await startGateway(
  { after } as TestContext,
  { fetch: { allow_private: [place, mcp.place] }, mcp: { servers: { one: { url: mcp.url } } } },
  { steps: [{ step, on: 'server' }] },
);

const ask = async (path: string, json?: object, method?: string) => {
  step.seen.length = 0;
  const response = await gateway.fetch(path, { ...(json !== undefined && { json }), ...(method && { method }) });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.equal(step.seen.length, 1, 'one look at it');
  assert.notEqual(step.seen[0]?.texts, null, 'its texts are read');
  return text;
};
const textsSeen = () => (step.seen[0]?.texts?.parts ?? []).map(({ text }) => text);

test('a step changes the address of a page, and what it says', async () => {
  const text = await ask('/v1/tools/scrape', { url: `http://${place}/${quietIn}` });
  assert.ok(paths.includes('/LOUDIN') && !paths.includes(`/${quietIn}`), paths.join());
  assert.ok(text.includes('LOUDOUT') && !text.includes(quietOut), text);
});

test('a step changes arguments of MCP calls, and their results', async () => {
  const text = await ask('/v1/mcp/call', { tool: `one__${quietOut}`, arguments: { to: [`say ${quietIn}`] } });
  assert.ok(text.includes('LOUDOUT') && !text.includes(quietOut), text);
  assert.ok(textsSeen().includes(`say ${quietIn}`), textsSeen().join());
});

for (const size of ['small', 'large']) {
  test(`a step changes payloads that are stored, and those that are found: a ${size} body`, async () => {
    const path = `/v1/vectors/collections/${size}`;
    await ask(path, { vectors: { size: 2, distance: 'Dot' } }, 'PUT');
    const payload = { in: `a ${quietIn} b`, out: quietOut, filler: 'x'.repeat(size === 'large' ? 1_200_000 : 1) };
    await ask(`${path}/points?wait=true`, { points: [{ id: 1, vector: [1, 0], payload }] }, 'PUT');
    const found = await ask(`${path}/points/query`, { query: [1, 0], with_payload: ['in', 'out'] });
    assert.match(found, /a LOUDIN b/);
    assert.ok(found.includes('LOUDOUT') && !found.includes(quietOut), found);
    assert.match(await ask(path), /"points_count":1/, 'a call without a body passes too');
  });
}
