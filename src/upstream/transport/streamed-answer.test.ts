import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { testTransport } from '../../../test/loopback-transport.ts';
import { streamedAnswer } from './streamed-answer.ts';
import { NoAnswer } from './whole-answer.ts';

const bounds = { connectTimeoutMs: 3_000, silenceMs: 10_000 };
const piece = Buffer.alloc(256 * 1024, 'a line of results\n');
const pieces = 64;

async function served(t: TestContext, answer: (response: ServerResponse) => void) {
  const server = createServer((_, response) => answer(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return streamedAnswer(testTransport(t), { origin, path: '/', method: 'GET', headers: [], body: null }, bounds);
}

for (const speed of ['at once', 'slowly'] as const) {
  test(`a long answer that is read ${speed} arrives whole`, async (t) => {
    const sent = createHash('sha256');
    for (let at = 0; at < pieces; at++) sent.update(piece);
    const { status, content } = await served(t, (response) => {
      for (let at = 0; at < pieces; at++) response.write(piece);
      response.end();
    });
    assert.equal(status, 200);
    const read = createHash('sha256');
    for await (const chunk of content) {
      read.update(chunk);
      if (speed === 'slowly') await nextTurn();
    }
    assert.equal(read.digest('hex'), sent.digest('hex'));
  });
}

test('an upstream is not read further than its reader gets', async (t) => {
  let answering: ServerResponse | null = null;
  const { content } = await served(t, (response) => {
    answering = response;
    for (let at = 0; at < pieces * 4; at++) response.write(piece);
    response.end();
  });
  await content.next();
  for (let turn = 0; turn < 200; turn++) await nextTurn();
  assert.ok(answering!.writableLength > 0, 'it waits for the reader');
  await content.return();
});

test('an answer of which nothing is wanted is closed', async (t) => {
  const closed = Promise.withResolvers<string>();
  const { content } = await served(t, (response) => {
    response.writeHead(500).write(Buffer.concat(Array.from({ length: pieces }, () => piece)));
    response.on('close', () => closed.resolve('closed'));
  });
  await content.return();
  assert.equal(await Promise.race([closed.promise, setTimeout(5_000, 'open', { ref: false })]), 'closed');
});

test('an answer that breaks off rejects', async (t) => {
  const { content } = await served(t, (response) => {
    response.writeHead(200, { 'content-length': 2 * piece.length });
    response.write(piece, () => response.destroy());
  });
  await assert.rejects(async () => {
    for await (const _ of content);
  }, NoAnswer);
});
