import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startGateway, workersKnow } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

interface Asked {
  model: string;
  n?: number;
  stream?: boolean;
}

type Headers = Record<string, string>;

/** How each format that knows several choices asks for them: path and body. */
const formats = {
  'openai-chat': (asked: Asked): [string, object] => [
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 'Hello' }], ...asked },
  ],
  gemini: ({ model, n, stream }: Asked): [string, object] => [
    `/v1beta/models/${model}:${stream === true ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], generationConfig: { candidateCount: n } },
  ],
  completions: (asked: Asked): [string, object] => ['/v1/completions', { prompt: 'Hello', ...asked }],
} as const;

/** `both`: a target with native n, then one that gives a choice a call; `native`, `single`, `google`: one such alone. */
async function setup(t: TestContext, format: keyof typeof formats, windows: unknown = { '5h': 100 }) {
  const [native, single] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([native.close(), single.close()]));
  const gateway = await startGateway(t, {
    providers: {
      native: { type: 'openai', base_url: `${native.url}/v1`, api_key: 'a' },
      single: { type: 'anthropic', base_url: single.url, api_key: 'b' },
      google: { type: 'gemini', base_url: single.url, api_key: 'c' },
    },
    models: {
      both: { targets: ['native/mock/ok', { provider: 'single', model: 'mock/ok', priority: 2 }], cost: 2 },
      native: { targets: ['native/mock/ok'], cost: 2 },
      single: { targets: ['single/mock/ok'], cost: 2 },
      google: { targets: ['google/mock/ok'], cost: 2 },
    },
    plans: { default: { rpm: 'off', windows } },
  });
  await gateway.modelsKnown;
  const ask = (asked: Asked, headers: Headers = {}) => {
    const [path, json] = formats[format](asked);
    return gateway.fetch(path, { json, headers });
  };
  const used = async () => {
    const { windows: all } = (await (await gateway.fetch('/v1/usage')).json()) as {
      windows: { '5h': { used: number } };
    };
    return all['5h'].used;
  };
  /** Status, x-culvert-cost and what the window took of it. */
  const charged = async (asked: Asked, headers?: Headers) => {
    const before = await used();
    const answer = await ask(asked, headers);
    await answer.text();
    await workersKnow();
    return [answer.status, answer.headers.get('x-culvert-cost'), (await used()) - before];
  };
  return { gateway, native, single, ask, charged, used };
}

for (const format of ['openai-chat', 'gemini'] as const) {
  test(`${format}: n choices cost n where they are n calls, and one request where they are one`, async (t) => {
    const { native, single, charged } = await setup(t, format);
    assert.deepEqual(await charged({ model: 'single', n: 3 }), [200, '6', 6]);
    assert.deepEqual(await charged({ model: 'single', n: 3, stream: true }), [200, '6', 6]);
    assert.deepEqual(await charged({ model: 'single' }), [200, '2', 2]);
    assert.deepEqual(await charged({ model: 'google', n: 3 }), [200, '6', 6]);
    assert.deepEqual(await charged({ model: 'google', n: 3, stream: true }), [200, '6', 6]);
    assert.deepEqual(await charged({ model: 'native', n: 3 }), [200, '2', 2]);
    assert.deepEqual(await charged({ model: 'native', n: 3, stream: true }), [200, '2', 2]);
    assert.deepEqual(await charged({ model: 'both', n: 3 }), [200, '2', 2]);
    native.script('/v1/chat/completions', ['status=503']);
    assert.deepEqual(await charged({ model: 'both', n: 3 }), [200, '6', 6], 'the others answered, call by call');
    native.script('/v1/chat/completions', []);
    single.script('/v1/messages', ['always status=400']);
    assert.deepEqual(await charged({ model: 'single', n: 3 }), [400, '0', 0]);
    // Google's format has a bound of its own, which is looked at before anything has a cost.
    const none = format === 'gemini' ? null : '0';
    assert.deepEqual(await charged({ model: 'single', n: 9 }), [400, none, 0], 'more than are run');
  });

  test(`${format}: n choices that may be n calls are held before any is made`, async (t) => {
    const { single, ask, used } = await setup(t, format, { '5h': 5 });
    const refused = await ask({ model: 'single', n: 3 });
    assert.equal(refused.status, 429);
    await refused.text();
    assert.equal(single.requests().filter(({ method }) => method === 'POST').length, 0);
    const two = await ask({ model: 'single', n: 2 });
    assert.equal(two.status, 200);
    await two.text();
    assert.equal(await used(), 4);
  });

  test(`${format}: of n choices those are paid whose answer began, and of a whole answer that one failed none`, async (t) => {
    const { single, charged } = await setup(t, format);
    // The third is refused while the others are writing.
    const script = ['tokens=40;interval=20ms', 'tokens=40;interval=20ms', 'delay=300ms;status=400'];
    single.script('/v1/messages', script);
    assert.deepEqual(await charged({ model: 'single', n: 3, stream: true }), [200, '6', 4]);
    single.script('/v1/messages', script);
    assert.deepEqual(await charged({ model: 'single', n: 3 }), [400, '0', 0]);
    // The others were whole by then, and reached nobody.
    single.script('/v1/messages', ['ok', 'ok', 'delay=500ms;status=400']);
    assert.deepEqual(await charged({ model: 'single', n: 3 }), [400, '0', 0]);
    single.script('/v1/messages', ['ok', 'ok', 'delay=500ms;status=400']);
    const keyed = { 'idempotency-key': 'a-choice-fails' };
    assert.deepEqual(await charged({ model: 'single', n: 3 }, keyed), [400, '0', 0], 'under a key just so');
    assert.deepEqual(await charged({ model: 'single', n: 3 }, keyed), [200, '6', 6], 'which is free then');
  });
}

test('of n choices the record tells a caller who left from one who read to the end', async (t) => {
  const { gateway, single, ask } = await setup(t, 'openai-chat');
  const recorded = async (answer: Response) => {
    const id = answer.headers.get('x-culvert-request-id');
    await until('it is settled', async () => (await gateway.fetch(`/v1/requests/${id}`)).ok);
    const { aborted, class: kind } = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as Record<
      string,
      unknown
    >;
    return [aborted, kind];
  };
  const read = await ask({ model: 'single', n: 2, stream: true });
  await read.text();
  assert.deepEqual(await recorded(read), [false, 'ok']);
  single.script('/v1/messages', ['always tokens=40;interval=20ms']);
  const left = await ask({ model: 'single', n: 2, stream: true });
  await left.body!.cancel();
  assert.deepEqual(await recorded(left), [true, 'aborted']);
});

test('text completions: n choices are one call and cost one request', async (t) => {
  const { native, charged } = await setup(t, 'completions');
  assert.deepEqual(await charged({ model: 'native', n: 3 }), [200, '2', 2]);
  assert.deepEqual(await charged({ model: 'native', n: 3, stream: true }), [200, '2', 2]);
  assert.equal(native.requests().filter(({ method }) => method === 'POST').length, 2);
});
