import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Exchange } from './exchange.ts';
import { sendBytes } from './send-bytes.ts';

async function* content() {
  for (const piece of ['0123', '4567', '89']) yield Buffer.from(piece);
}

test('a Range gets its part of a file, one beyond the file gets 416, and any other gets all of it', async (t) => {
  const server = createServer((request, response) => {
    const exchange = { request, response, requestId: 'r', client: {} } as Partial<Exchange> as Exchange;
    void sendBytes(exchange, { bytes: 10, headers: [], content: content() });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const all = [200, '0123456789', null, '10'];
  for (const [range, expected] of [
    ['bytes=2-5', [206, '2345', 'bytes 2-5/10', '4']],
    ['bytes=8-', [206, '89', 'bytes 8-9/10', '2']],
    ['bytes=-3', [206, '789', 'bytes 7-9/10', '3']],
    ['bytes=0-99', [206, '0123456789', 'bytes 0-9/10', '10']],
    ['bytes=10-', [416, '', 'bytes */10', '0']],
    ['bytes=-0', [416, '', 'bytes */10', '0']],
    ['bytes=5-2', all],
    ['bytes=0-1,4-5', all],
    ['lines=1-2', all],
  ] as const) {
    const answer = await fetch(url, { headers: { range } });
    const { status, headers } = answer;
    assert.deepEqual(
      [status, await answer.text(), headers.get('content-range'), headers.get('content-length')],
      expected,
    );
  }
  const conditional = await fetch(url, { headers: { range: 'bytes=2-5', 'if-range': '"a"' } });
  assert.deepEqual([conditional.status, conditional.headers.get('accept-ranges')], [200, 'bytes']);
  assert.equal((await fetch(url, { method: 'HEAD', headers: { range: 'bytes=2-5' } })).status, 200);
});
