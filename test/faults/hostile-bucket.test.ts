import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

/* A bucket for records that answers without end: the sink gives it up, says so and sends the batch again. */

const pieceBytes = 256 * 1024;

/** A gateway whose records go to a bucket that answers the first puts so, and is well after `heal`. */
async function sinkTo(t: TestContext, first: (response: ServerResponse) => void) {
  let answer: ((response: ServerResponse) => void) | null = first;
  const bodies: string[] = [];
  let puts = 0;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    puts += 1;
    if (answer !== null) return answer(response);
    bodies.push(body);
    response.end();
  });
  const endpoint = await listening(t, server);
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream.url),
    storage: { s3: { endpoint, access_key_id: 'a', secret_access_key: 'b' } },
    telemetry: { sinks: [{ name: 'lake', s3: 's3://records/culvert', every: '100ms' }] },
  });
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(response.status, 200);
  return {
    id: response.headers.get('x-culvert-request-id')!,
    puts: () => puts,
    bodies,
    heal() {
      answer = null;
    },
  };
}

// Each mostly waits.
describe('a bucket', { concurrency: true }, () => {
  test('that refuses with words without end is read for 64 KB, and gets the records when it is well', async (t) => {
    let pieces = 0;
    const bucket = await sinkTo(t, (response) => {
      response.writeHead(403, { 'content-type': 'application/xml' });
      const more = () => {
        do pieces += 1;
        while (!response.destroyed && response.write(Buffer.alloc(pieceBytes, 'a')));
      };
      response.on('drain', more);
      more();
    });
    await until('it is asked again', () => bucket.puts() > 1);
    // Sockets hold some of what is sent.
    assert.ok(pieces * pieceBytes < bucket.puts() * 32 * 1024 * 1024, `${pieces} pieces were taken`);
    bucket.heal();
    await until('the record arrived', () => bucket.bodies.some((body) => body.includes(bucket.id)));
  });

  test('that begins an answer and never ends it is given up, and gets the records when it is well', async (t) => {
    const bucket = await sinkTo(t, (response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 200);
      response.on('close', () => clearInterval(drip));
    });
    await until('it was asked', () => bucket.puts() === 1);
    bucket.heal();
    await until('the record arrived, by another put', () => bucket.bodies.some((body) => body.includes(bucket.id)));
  });
});
