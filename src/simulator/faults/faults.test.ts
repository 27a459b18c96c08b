// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { fakeClock } from '../../../test/fake-clock.ts';
import { type RawRequest, rawExchange } from '../../../test/raw-exchange.ts';
import { startUpstream } from '../../../test/start-upstream.ts';

const upstream = await startUpstream();
after(() => upstream.close());

interface Case {
  name: string;
  path: string;
  stream: boolean;
  /** Ends a healthy stream. */
  terminal: string;
}

// Every fault must work in both dialects, on whole and on streamed answers.
const cases: readonly Case[] = [
  { name: 'chat, whole', path: '/v1/chat/completions', stream: false, terminal: '' },
  { name: 'chat, streamed', path: '/v1/chat/completions', stream: true, terminal: 'data: [DONE]' },
  { name: 'messages, whole', path: '/v1/messages', stream: false, terminal: '' },
  { name: 'messages, streamed', path: '/v1/messages', stream: true, terminal: 'event: message_stop' },
];

const body = { model: 'm', max_tokens: 1_000, messages: [{ role: 'user', content: 'hello, how are you?' }] };

type More = Pick<RawRequest, 'headers' | 'patienceMs' | 'bodyBytesMin' | 'firstBytesMs'>;

function ask(on: Case, spec: string, { headers, ...more }: More = {}) {
  return rawExchange({
    url: upstream.url,
    path: on.path,
    headers: { 'x-mock': spec, ...headers },
    body: { ...body, stream: on.stream },
    ...more,
  });
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The JSON payloads of SSE, unreadable ones as null. */
function payloads(sse: string): (Record<string, unknown> | null)[] {
  return sse
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => (parses(line.slice(6)) ? JSON.parse(line.slice(6)) : null));
}

for (const on of cases) {
  const faultTest = (what: string, run: () => Promise<void>) => test(`${on.name}: ${what}`, run);

  faultTest('status, Retry-After, words and headers are sent as told', async () => {
    const answer = await ask(on, 'status=503;retry-after=2;message=be%3B back;type=odd_error;header.x-extra=1');
    assert.equal(answer.status, 503);
    assert.match(answer.head, /\r\nretry-after: 2\r\n/);
    assert.match(answer.head, /\r\nx-extra: 1\r\n/);
    const { error } = JSON.parse(answer.body.toString());
    assert.equal(error.message, 'be; back');
    assert.equal(error.type, 'odd_error');
  });

  faultTest('code=insufficient_quota is a 429 with that code', async () => {
    const answer = await ask(on, 'code=insufficient_quota');
    assert.equal(answer.status, 429);
    const { error } = JSON.parse(answer.body.toString());
    assert.equal(on.path === '/v1/messages' ? error.type : error.code, 'insufficient_quota');
  });

  faultTest('echo-auth repeats the credentials (S19)', async () => {
    const answer = await ask(on, 'echo-auth;status=500', { headers: { authorization: 'Bearer sk-canary' } });
    assert.equal(answer.status, 500);
    assert.match(JSON.parse(answer.body.toString()).error.message, /Bearer sk-canary/);
  });

  faultTest('cut=120 lets 120 body bytes through, then resets', async () => {
    const answer = await ask(on, 'cut=120');
    assert.equal(answer.ended, 'reset');
    assert.equal(answer.body.length, 120);
  });

  faultTest('cut=0 resets after the headers', async () => {
    const answer = await ask(on, 'cut=0');
    assert.deepEqual([answer.status, answer.ended, answer.body.length], [200, 'reset', 0]);
  });

  faultTest('cut alone strikes in the middle', async () => {
    const answer = await ask(on, 'cut');
    assert.equal(answer.ended, 'reset');
    const seen = answer.body.toString();
    if (on.stream) {
      assert.match(seen, /Mock/);
      assert.ok(!seen.includes('answer'));
    } else assert.ok(seen.length > 50 && !parses(seen));
  });

  faultTest('fin closes the connection without the end of the message', async () => {
    const answer = await ask(on, 'fin=120');
    assert.equal(answer.ended, 'fin');
    assert.equal(answer.body.length, 120);
  });

  faultTest('eof=120 ends cleanly after 120 bytes', async () => {
    const answer = await ask(on, 'eof=120');
    assert.equal(answer.ended, 'complete');
    assert.equal(answer.body.length, 120);
  });

  faultTest('eof alone ends cleanly without the final events', async () => {
    const answer = await ask(on, 'eof');
    assert.equal(answer.ended, 'complete');
    const seen = answer.body.toString();
    if (!on.stream) assert.ok(!parses(seen));
    else {
      assert.match(seen, /you/);
      assert.ok(!seen.includes(on.terminal) && !/"(finish|stop)_reason":"/.test(seen));
    }
  });

  faultTest('stall falls silent after the headers, stall=120 after 120 bytes', async () => {
    const [atOnce, later] = await Promise.all([
      ask(on, 'stall', { patienceMs: 60 }),
      ask(on, 'stall=120', { bodyBytesMin: 120, patienceMs: 60 }),
    ]);
    assert.deepEqual([atOnce.status, atOnce.ended, atOnce.body.length], [200, 'silence', 0]);
    assert.deepEqual([later.status, later.ended, later.body.length], [200, 'silence', 120]);
  });

  faultTest('hang never answers', async () => {
    const answer = await ask(on, 'hang', { firstBytesMs: 60 });
    assert.deepEqual([answer.status, answer.ended], [0, 'silence']);
  });

  faultTest('reset breaks the connection before the headers', async () => {
    const answer = await ask(on, 'reset');
    assert.deepEqual([answer.status, answer.ended], [0, 'reset']);
  });

  faultTest('malformed cannot be parsed', async () => {
    const seen = (await ask(on, 'malformed=2')).body.toString();
    if (!on.stream) assert.ok(!parses(seen));
    else {
      assert.equal(payloads(seen).filter((payload) => payload === null).length, 2);
      assert.ok(seen.includes(on.terminal));
    }
  });

  faultTest('html and empty are no answers', async () => {
    const html = await ask(on, 'html');
    assert.match(html.head, /content-type: text\/html/);
    assert.match(html.body.toString(), /^<!DOCTYPE html>/);
    assert.equal((await ask(on, 'html;status=502')).status, 502);
    const empty = await ask(on, 'empty');
    assert.deepEqual([empty.status, empty.ended, empty.body.length], [200, 'complete', 0]);
  });

  faultTest('error stands inside a 200', async () => {
    const answer = await ask(on, 'error=2;message=the engine fell over');
    assert.equal(answer.status, 200);
    const seen = answer.body.toString();
    const last = on.stream ? payloads(seen).at(-1) : JSON.parse(seen);
    assert.equal(last.error.message, 'the engine fell over');
    if (on.stream) {
      assert.match(seen, /Mock.* answer/s);
      assert.ok(!seen.includes(' to"') && !seen.includes(on.terminal));
    }
    const first = (await ask(on, 'error=0')).body.toString();
    if (on.stream) assert.equal(payloads(first).length, 1);
  });

  faultTest('redirect answers 307', async () => {
    const answer = await ask(on, 'redirect=http://127.0.0.1:9/x?a=b');
    assert.equal(answer.status, 307);
    assert.match(answer.head, /location: http:\/\/127\.0\.0\.1:9\/x\?a=b/);
  });

  faultTest('gzip and drip change the bytes, not the answer', async () => {
    const plain = (await ask(on, 'text=ß👋')).body.toString();
    const packed = await ask(on, 'text=ß👋;gzip;drip=100/0');
    assert.match(packed.head, /content-encoding: gzip/);
    const same = (text: string) => text.replaceAll(/sim\d+/g, 'sim').replaceAll(/"created":\d+/g, '');
    assert.equal(same(gunzipSync(packed.body).toString()), same(plain));
    const dripped = await ask(on, 'text=ß👋;drip=1/0');
    assert.equal(same(dripped.body.toString()), same(plain));
  });

  faultTest('bomb is a gzip answer of that size', async () => {
    const answer = await ask(on, 'bomb=4mb');
    assert.ok(answer.body.length < 64 * 1024);
    assert.ok(gunzipSync(answer.body).length >= 4 * 1024 * 1024);
  });

  faultTest('endless is one line of that length', async () => {
    const seen = (await ask(on, 'endless=1mb')).body;
    assert.ok(seen.length >= 1024 * 1024);
    assert.equal(seen.indexOf('\n'), -1);
  });

  faultTest('early-hints come before the answer', async () => {
    const answer = await ask(on, 'early-hints');
    assert.match(answer.head, /^HTTP\/1\.1 103 .*HTTP\/1\.1 200 OK/s);
    assert.equal(answer.status, 200);
  });

  faultTest('delay waits before the headers', async () => {
    const startMs = performance.now();
    await ask(on, 'delay=40ms');
    assert.ok(performance.now() - startMs >= 39);
  });

  faultTest('an unreadable spec is a 400 that says so, in the header and in the model', async () => {
    const answer = await ask(on, 'statsu=503');
    assert.equal(answer.status, 400);
    assert.match(answer.body.toString(), /'statsu' is unknown/);
    const model = await rawExchange({
      url: upstream.url,
      path: on.path,
      body: { ...body, model: 'mock/delay=soon', stream: on.stream },
    });
    assert.equal(model.status, 400);
    assert.match(model.body.toString(), /'delay' must be a duration/);
  });

  faultTest('the model name carries a spec through a gateway', async () => {
    const answer = await rawExchange({
      url: upstream.url,
      path: on.path,
      body: { ...body, model: 'mock/status=529;retry-after=7', stream: on.stream },
    });
    assert.equal(answer.status, 529);
    assert.match(answer.head, /retry-after: 7/);
  });
}

for (const on of cases.filter((one) => !one.stream)) {
  test(`${on.name}: slow-reasoning keeps the caller waiting`, async () => {
    const startMs = performance.now();
    const seen = (await ask(on, 'slow-reasoning=40ms')).body.toString();
    assert.ok(performance.now() - startMs >= 39);
    assert.match(seen, /"(thinking|reasoning_content)":"The user/);
  });
}

for (const on of cases.filter((one) => one.stream)) {
  const faultTest = (what: string, run: () => Promise<void>) => test(`${on.name}: ${what}`, run);
  const deltas = (sse: string) =>
    sse.split(on.path === '/v1/messages' ? '"text_delta"' : '"delta":{"content"').length - 1;

  faultTest('chunks and size shape the text', async () => {
    assert.equal(deltas((await ask(on, 'chunks=200')).body.toString()), 200);
    assert.equal(deltas((await ask(on, 'size=2kb;chunks=7')).body.toString()), 7);
  });

  faultTest('interval paces the deltas', async () => {
    const startMs = performance.now();
    await ask(on, 'chunks=5;interval=10ms');
    assert.ok(performance.now() - startMs >= 39);
  });

  faultTest('cut=3events stops after three frames', async () => {
    const seen = (await ask(on, 'cut=3events')).body.toString();
    assert.equal(payloads(seen).length, 3);
    assert.ok(seen.endsWith('\n\n'));
  });

  faultTest('keepalive-comments stand before every delta', async () => {
    const seen = (await ask(on, 'keepalive-comments=2;chunks=3')).body.toString();
    assert.equal(seen.split(': keepalive\n\n').length - 1, 6);
  });

  faultTest('slow-reasoning thinks first', async () => {
    const startMs = performance.now();
    const seen = (await ask(on, 'slow-reasoning=50ms')).body.toString();
    assert.ok(performance.now() - startMs >= 45);
    assert.ok(seen.search(/thinking_delta|reasoning_content/) < seen.indexOf('Mock'));
  });

  faultTest('crlf ends lines with CRLF', async () => {
    const seen = (await ask(on, 'crlf')).body.toString();
    assert.ok(!/[^\r]\n/.test(seen) && seen.includes(`${on.terminal}\r\n`));
  });

  faultTest('omit leaves the terminal event out', async () => {
    const seen = (await ask(on, 'omit=done')).body.toString();
    assert.ok(!seen.includes(on.terminal));
    assert.match(seen, /"(finish|stop)_reason":"(stop|end_turn)"/);
  });
}

test('flap fails the share that it names, the same ones for the same seed', async () => {
  const round = async () => {
    upstream.clear();
    const statuses: number[] = [];
    for (let at = 0; at < 40; at += 1) statuses.push((await ask(cases[0]!, 'flap=0.5;seed=7;retry-after=1')).status);
    return statuses;
  };
  const first = await round();
  const failed = first.filter((status) => status === 503).length;
  assert.ok(failed > 10 && failed < 30, `${failed} of 40`);
  assert.ok(first.every((status) => status === 200 || status === 503));
  assert.deepEqual(await round(), first);
});

test('flap=1 strikes every request with the failure named, flap=0 none', async () => {
  assert.equal((await ask(cases[1]!, 'flap=1;cut=10')).ended, 'reset');
  assert.equal((await ask(cases[1]!, 'flap=0;cut=10')).ended, 'complete');
});

test('every=3 fails each third request of its seed, whatever others are asked', async () => {
  upstream.clear();
  const statuses: number[] = [];
  for (let at = 0; at < 9; at += 1) {
    statuses.push((await ask(cases[0]!, 'every=3;status=500')).status);
    await ask(cases[0]!, 'every=2;seed=2');
  }
  assert.deepEqual(statuses, [200, 200, 500, 200, 200, 500, 200, 200, 500]);
});

test('two that alternate are never up or down together', async (t) => {
  const clock = fakeClock(0);
  const alternating = await startUpstream({ clock });
  t.after(() => alternating.close());
  const status = async (spec: string) => {
    const json = JSON.stringify({ model: `mock/${spec}`, messages: [{ role: 'user', content: 'hi' }] });
    const response = await fetch(`${alternating.url}/v1/chat/completions`, { method: 'POST', body: json });
    await response.text();
    return response.status;
  };
  const seen: number[][] = [];
  for (let at = 0; at < 4; at += 1) {
    seen.push([await status('alternate=3s'), await status('alternate=3s/down')]);
    clock.advance(1_500);
  }
  const [one, other] = [seen[0]!, seen[0]!.toReversed()];
  assert.deepEqual(one.toSorted(), [200, 503]);
  assert.deepEqual(seen, [one, one, other, other]);
});

test('prompt=… fails what contains these words', async () => {
  const model = 'mock/prompt=poison;status=500';
  const statusOf = async (content: string) => {
    const json = JSON.stringify({ model, messages: [{ role: 'user', content }] });
    const response = await fetch(`${upstream.url}/v1/chat/completions`, { method: 'POST', body: json });
    await response.text();
    return response.status;
  };
  assert.deepEqual([await statusOf('a sweet one'), await statusOf('this is poison')], [200, 500]);
});
