import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { adminKey, otherKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

/* Design §16: the log never has bodies, unless `telemetry.log.bodies` names the key. */

interface Line {
  msg: string;
  requestId: string;
  key: string;
  path: string;
  status: number;
  request: string;
  answer: string;
  error?: string;
}

interface World {
  gateway: TestGateway;
  upstream: Upstream;
  log(): string;
  /** Lines with bodies. */
  bodies(): Line[];
}

async function open(t: TestContext, named: false | readonly string[]): Promise<World> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  let log = '';
  const sink = new Writable({
    write(chunk, _, done) {
      log += String(chunk);
      done();
    },
  });
  const gateway = await startGateway(t, config(upstream, named), { log: pino({ base: null }, sink) });
  const lines = () => log.split('\n').filter((line) => line !== '');
  return {
    gateway,
    upstream,
    log: () => log,
    bodies: () =>
      lines()
        .map((line) => JSON.parse(line) as Line)
        .filter(({ msg }) => msg === 'bodies'),
  };
}

const config = (upstream: Upstream, named: false | readonly string[]) => ({
  telemetry: { log: { bodies: named } },
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
  models: {
    chat: { targets: ['up/mock/ok'] },
    emb: { type: 'embedding', targets: ['up/mock/ok'] },
    say: { type: 'speech', targets: ['up/mock/ok'] },
  },
});

const ask = (content: string, more: object = {}) => ({
  json: { model: 'chat', messages: [{ role: 'user', content }], ...more },
});

test('without telemetry.log.bodies no word of what is asked or answered is logged', async (t) => {
  const { gateway, log, bodies } = await open(t, false);
  const answer = await gateway.fetch('/v1/chat/completions', ask('zebra-crossing'));
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
  assert.deepEqual(bodies(), []);
  assert.ok(!log().includes('zebra-crossing'));
  assert.ok(!log().includes(choices[0]!.message.content));
});

test('bodies of the keys that are named are logged whole and streamed, those of others are not', async (t) => {
  const { gateway, bodies } = await open(t, ['dev/test']);
  const whole = await (await gateway.fetch('/v1/chat/completions', ask('first question'))).text();
  const streamed = await (await gateway.fetch('/v1/chat/completions', ask('second question', { stream: true }))).text();
  const messages = { model: 'chat', max_tokens: 5, messages: [{ role: 'user', content: 'third question' }] };
  const message = await (await gateway.fetch('/v1/messages', { json: messages })).text();
  const headers = { authorization: `Bearer ${otherKey}` };
  await (await gateway.fetch('/v1/chat/completions', { ...ask('of somebody else'), headers })).text();

  const lines = bodies();
  assert.deepEqual(
    lines.map(({ key, path, status }) => [key, path, status]),
    [
      ['dev/test', '/v1/chat/completions', 200],
      ['dev/test', '/v1/chat/completions', 200],
      ['dev/test', '/v1/messages', 200],
    ],
  );
  assert.deepEqual(JSON.parse(lines[0]!.request), ask('first question').json);
  assert.deepEqual(
    lines.map(({ answer }) => answer),
    [whole, streamed, message],
  );
  assert.match(lines[0]!.requestId, /^req_/);
});

test('what failed is logged with its reason, and a repeated call under an Idempotency-Key with the kept answer', async (t) => {
  const { gateway, upstream, bodies } = await open(t, ['dev/test']);
  const headers = { 'idempotency-key': 'one-key-of-many' };
  for (let i = 0; i < 2; i++) await (await gateway.fetch('/v1/chat/completions', { ...ask('again'), headers })).text();
  const kept = bodies();
  assert.equal(kept.length, 2);
  assert.equal(kept[0]!.answer, kept[1]!.answer);

  upstream.script('*', ['always status=400;message=no such thing']);
  await (await gateway.fetch('/v1/chat/completions', ask('refused'))).text();
  await (await gateway.fetch('/v1/chat/completions', { json: { model: 'nobody', messages: [] } })).text();
  const [, , refused, unknown] = bodies();
  assert.deepEqual([refused!.status, refused!.answer], [400, '']);
  assert.match(refused!.error!, /no such thing/);
  assert.equal(unknown!.status, 400);
});

test('credentials never reach the log, wherever in a body they stand', async (t) => {
  const { gateway, log, bodies } = await open(t, ['dev/test']);
  const secrets = [
    'hunter2hunter2',
    'sk-proj-abcdefghijklmnop',
    'swordfish"escaped',
    'nested-pass-word',
    'abcdefgh12345678',
  ];
  const inText = JSON.stringify({ client_secret: secrets[3] });
  const json = {
    ...ask(`my key is ${secrets[1]}, sent as Bearer ${secrets[4]}, arguments ${inText}`).json,
    api_key: secrets[0],
    metadata: { db_password: secrets[2] },
  };
  await (await gateway.fetch('/v1/chat/completions', { json })).text();
  assert.equal(bodies().length, 1);
  for (const secret of [...secrets, 'swordfish', 'escaped', gateway.key, 'upstream-secret-1']) {
    assert.ok(!log().includes(secret), secret);
  }
  assert.match(bodies()[0]!.request, /"model":"chat"/);
});

test('at most 64 KB of a body are logged, and its length', async (t) => {
  const { gateway, bodies } = await open(t, ['dev/test']);
  await (await gateway.fetch('/v1/chat/completions', ask('long '.repeat(60_000)))).text();
  const { request } = bodies()[0]!;
  assert.ok(request.length < 66_000, String(request.length));
  assert.match(request, /… \[3000\d\d bytes in all\]$/);
});

test('sound and uploads are named by their length or kind, never written', async (t) => {
  const { gateway, bodies } = await open(t, ['dev/test']);
  const spoken = await gateway.fetch('/v1/audio/speech', {
    json: { model: 'say', input: 'Hello', voice: 'alloy', response_format: 'wav' },
  });
  const sound = await spoken.arrayBuffer();
  assert.equal(spoken.status, 200);
  assert.equal(bodies()[0]!.answer, `[${sound.byteLength} bytes of audio/wav]`);

  const form = new FormData();
  form.set('model', 'nobody');
  form.set('file', new Blob([new Uint8Array(sound)]), 'a.wav');
  await (await gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body: form })).text();
  const upload = bodies()[1]!;
  assert.deepEqual([upload.request, upload.status], ['[upload]', 404]);
});

test('a reload names other keys at once', async (t) => {
  const { gateway, upstream, bodies } = await open(t, false);
  await gateway.reload(config(upstream, ['dev/test']));
  await (await gateway.fetch('/v1/embeddings', { json: { model: 'emb', input: 'x' } })).text();
  assert.equal(bodies().length, 1);
  await gateway.reload(config(upstream, false));
  await (await gateway.fetch('/v1/embeddings', { json: { model: 'emb', input: 'x' } })).text();
  assert.equal(bodies().length, 1);
});

test('a request shows its bodies and its tag to operators, and says why it has none where its key is not named', async (t) => {
  const { gateway } = await open(t, ['dev/test']);
  const tagged = { 'x-culvert-tag': '  nightly\tbatch ' };
  const answer = await gateway.fetch('/v1/chat/completions', { ...ask('first question'), headers: tagged });
  const text = await answer.text();
  const foreign = { authorization: `Bearer ${otherKey}` };
  const other = await gateway.fetch('/v1/chat/completions', { ...ask('of somebody else'), headers: foreign });
  await other.text();
  const admin = async (path: string) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    return (await (await gateway.fetch(`/admin/v1${path}`, { headers })).json()) as Record<string, never>;
  };
  const shown = await admin(`/requests/${answer.headers.get('x-culvert-request-id')}`);
  assert.deepEqual(shown.bodies, {
    status: 200,
    request: JSON.stringify(ask('first question').json),
    answer: text,
    error: null,
  });
  assert.equal(shown.tag, 'nightlybatch');
  const without = await admin(`/requests/${other.headers.get('x-culvert-request-id')}`);
  assert.equal(without.bodies, null);
  assert.match(String(without.bodies_note), /telemetry\.log\.bodies names/);
  const listed: { data: { id: string }[]; tail: string } = (await admin('/requests?tag=nightlybatch')) as never;
  assert.equal(listed.data.length, 1);
  assert.equal(listed.tail, listed.data[0]!.id);
  const tail: { data: { id: string }[]; tail: string } = (await admin(`/requests?after=${listed.tail}`)) as never;
  assert.deepEqual(
    tail.data.map(({ id }) => id),
    [other.headers.get('x-culvert-request-id')],
  );
  const sums: { data: { group: string; requests: number }[] } = (await admin('/usage?group_by=tag')) as never;
  assert.deepEqual(sums.data.map(({ group, requests }) => [group, requests]).toSorted(), [
    ['', 1],
    ['nightlybatch', 1],
  ]);
});
