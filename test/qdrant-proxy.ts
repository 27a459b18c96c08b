import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { qdrantRequestFaults } from './spec/qdrant-request.ts';

/**
 * Stands before something that speaks Qdrant's API and lets through what Qdrant's own description allows. Anything else
 * is answered with 400, and fails the test at its end.
 */
export async function startQdrantProxy(t: Pick<TestContext, 'after'>, upstream: string): Promise<{ url: string }> {
  const faults: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    const [method, path] = [request.method ?? '', request.url ?? ''];
    const found = qdrantRequestFaults(method, path, text).map((fault) => `${method} ${path}: ${fault}`);
    faults.push(...found);
    response.setHeader('content-type', 'application/json');
    if (found.length > 0) {
      response.writeHead(400).end(JSON.stringify({ status: { error: found.join('; ') }, time: 0 }));
      return;
    }
    const apiKey = request.headers['api-key'];
    const answer = await fetch(upstream + path, {
      method,
      headers: {
        ...(text !== '' && { 'content-type': 'application/json' }),
        ...(apiKey !== undefined && { 'api-key': apiKey.toString() }),
      },
      ...(text !== '' && { body: text }),
    }).catch(() => null);
    // The test is over, and what the driver does by itself comes too late.
    if (answer === null) request.socket.destroy();
    else response.writeHead(answer.status).end(await answer.text().catch(() => ''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
    assert.deepEqual(faults, []);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
