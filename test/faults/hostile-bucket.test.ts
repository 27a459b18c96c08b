import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

/* A bucket for records that answers without end: the sink gives it up, says so and sends the batch again. */

const pieceBytes = 256 * 1024;

/** A gateway whose records go to a bucket that answers the first puts so, and is well after `heal`. */
async function sinkTo(t: TestContext, first: (response: ServerResponse, request: IncomingMessage) => void) {
  let answer: typeof first | null = first;
  const bodies: string[] = [];
  let puts = 0;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    puts += 1;
    if (answer !== null) return answer(response, request);
    bodies.push(body);
    response.end();
  });
  const endpoint = await listening(t, server);
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const configWith = (keys: object) => ({
    ...overUpstreams(upstream.url),
    storage: { s3: { endpoint, ...keys } },
    telemetry: { sinks: [{ name: 'lake', s3: 's3://records/culvert', every: '100ms' }] },
  });
  const gateway = await startGateway(t, configWith({ access_key_id: 'a', secret_access_key: 'b' }));
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(response.status, 200);
  return {
    id: response.headers.get('x-culvert-request-id')!,
    puts: () => puts,
    bodies,
    reload: (keys: object) => gateway.reload(configWith(keys)),
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

  test('whose keys have ended gets the records with those of the next reload, without a restart', async (t) => {
    const used: string[] = [];
    const bucket = await sinkTo(t, (response, { headers }) => {
      const [, key = ''] = /Credential=(\w+)/.exec(headers.authorization ?? '') ?? [];
      used.push([key, headers['x-amz-security-token']].join(' '));
      response.writeHead(key === 'next' ? 200 : 403).end();
    });
    await until('it was asked', () => bucket.puts() > 0);
    await bucket.reload({ access_key_id: 'next', secret_access_key: 'c', session_token: 't' });
    await until('it is asked with the next keys', () => used.includes('next t'));
    assert.equal(used[0], 'a ');
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
