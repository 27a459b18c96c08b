import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restAfterAnswerMs } from '../../src/upstream/transport/send.ts';
import { listen, onRequest } from '../loopback-transport.ts';
import { otherKey, overUpstreams, startGateway, testKey } from '../start-gateway.ts';

const answerOf = (content: string) => {
  const message = { role: 'assistant', content };
  const body = JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  });
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

const secretIn = (text: string) => /secret of \w+ \d+/.exec(text)?.[0];

/** How a broken upstream answers twice: `first` is its answer, `again` the bytes that it sends `afterMs` later. */
for (const [name, afterMs, respond] of [
  ['a second answer at once', 0, (answer: string) => [answer, answer]],
  ['a second answer 2 ms later', 2, (answer: string) => [answer, answer]],
  ['a 204 with a body', 1, (answer: string) => ['HTTP/1.1 204 No Content\r\n\r\n', answer]],
] as const) {
  test(`S32 ${name}: of 1,000 requests of two tenants none reads what another was answered`, async (t) => {
    // Sent again when the connection rested no more: on a busy machine a timer is late, and nothing tells them apart.
    const late = new Set<string>();
    const origin = await listen(t, (socket) =>
      onRequest(socket, (head, body) => {
        const [first, again] = head.startsWith('POST')
          ? respond(answerOf(secretIn(body) ?? ''))
          : ['HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}', ''];
        const firstMs = performance.now();
        socket.write(first!);
        setTimeout(() => {
          const secret = secretIn(again!);
          if (performance.now() - firstMs >= restAfterAnswerMs && secret !== undefined) late.add(secret);
          if (socket.writable) socket.write(again!);
        }, afterMs);
      }),
    );
    const config = overUpstreams(origin, origin, origin, origin);
    const gateway = await startGateway(t, config);
    let asked = 0;
    let answered = 0;
    const asking = async (key: string, tenant: string): Promise<void> => {
      while (asked < 1_000) {
        const own = `secret of ${tenant} ${asked++}`;
        const response = await gateway.fetch('/v1/chat/completions', {
          headers: { authorization: `Bearer ${key}` },
          json: { model: 'chat', messages: [{ role: 'user', content: own }] },
        });
        const text = await response.text();
        const read = secretIn(text);
        if (response.status === 200) answered += 1;
        if (read !== undefined && !late.has(read)) assert.equal(read, own);
      }
    };
    await Promise.all(
      Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? asking(testKey, 'Ann') : asking(otherKey, 'Bob'))),
    );
    assert.equal(answered, name.includes('204') ? 0 : 1_000);
  });
}
