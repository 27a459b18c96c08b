import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { rawExchange } from '../../test/raw-exchange.ts';
import { writeAnswer } from './write-answer.ts';

const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const headers = [
  'x-culvert-cost',
  '1',
  'ratelimit-policy',
  '"5h";q=50;w=18000',
  'x-culvert-model',
  'gpt-é',
  'vary',
  '*',
];

test('an answer has the head and the bytes that node would write, whatever its bytes, length and status', async (t) => {
  const bodies = [everyByte, Buffer.alloc(100_000, everyByte), 'Grüße', Buffer.alloc(0)];
  for (const body of bodies)
    for (const status of [200, 202]) {
      const length = String(Buffer.byteLength(body));
      const plain = await answerOf(t, (response) => {
        response.writeHead(status, ['content-length', length, ...headers]);
        response.end(body);
      });
      const ours = await answerOf(t, (response) => writeAnswer(response, status, headers, body));
      assert.deepEqual(linesOf(ours.head), linesOf(plain.head));
      assert.equal(Buffer.compare(ours.body, plain.body), 0);
      assert.equal(ours.body.length, Number(length));
    }
});

test('headers that were set before, as CORS does, go out too', async (t) => {
  const answer = await answerOf(t, (response) => {
    response.setHeader('access-control-allow-origin', 'https://app.example');
    writeAnswer(response, 200, headers, 'x');
  });
  assert.match(answer.head, /access-control-allow-origin: https:\/\/app\.example\r\n/);
  assert.match(answer.head, /x-culvert-cost: 1(\r\n|$)/);
});

for (const value of ['a\r\nset-cookie: b', 'a\nb', 'a\0', 'aĊset-cookie: b'])
  for (const name of ['x-culvert-model', 'ratelimit-policy', 'vary'])
    test(`S6 ${JSON.stringify(value)} in ${name} is no header and begins none`, async (t) => {
      const answer = await answerOf(t, (response) => {
        assert.throws(() => writeAnswer(response, 200, [name, value], 'x'), { code: 'ERR_INVALID_CHAR' });
        assert.equal(response.headersSent, false);
        response.writeHead(500).end();
      });
      assert.equal(answer.status, 500);
      assert.doesNotMatch(answer.head, /set-cookie/);
    });

test('S6 a name that is none is refused', async (t) => {
  await answerOf(t, (response) => {
    assert.throws(() => writeAnswer(response, 200, ['x\r\ny', 'z'], 'x'), { code: 'ERR_INVALID_HTTP_TOKEN' });
    response.writeHead(500).end();
  });
});

async function answerOf(t: TestContext, answer: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume();
    answer(response);
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return rawExchange({ url: `http://127.0.0.1:${port}`, path: '/', body: {} });
}

function linesOf(head: string): string[] {
  return head
    .split('\r\n')
    .filter((line) => !/^date:/i.test(line))
    .sort();
}
