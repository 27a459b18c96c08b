import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * Streams that this server cuts off at the end of a shutdown, where others stand between the request and its caller: the
 * error is the one event behind those that were sent, whoever wrote them.
 */

interface Frame {
  type?: string;
  sequence_number?: number;
  response?: { id: string; status: string };
  choices?: { index: number }[];
  error?: { message: string };
}

const responses = '/v1/responses';
const messages = [{ role: 'user', content: 'Hi' }];
const tools = [{ type: 'web_search' }];
const question = { stream: true, temperature: 0.25, input: 'Hi' };
const words = /This server shut down before the answer was complete/;

const frames = await cutStreams({
  response: [responses, { model: 'chat', stream: true, input: 'Hi' }],
  'a response with tools of this server': [responses, { model: 'chat', stream: true, input: 'Hi', tools }],
  'a response in the background': [responses, { model: 'chat', stream: true, background: true, input: 'Hi' }],
  'a response that is kept for others': [responses, { model: 'kept', ...question }],
  'a response that joins it': [responses, { model: 'kept', ...question }],
  'two choices': ['/v1/chat/completions', { model: 'single', stream: true, n: 2, messages }],
  'a chat that joins none': ['/v1/chat/completions', { model: 'chat', stream: true, messages }],
});

for (const [name, got] of Object.entries(frames)) {
  test(`${name}: the error is its last event`, () => {
    assert.ok(got.length > 3, JSON.stringify(got));
    const errors = got.filter((frame) => words.test(JSON.stringify(frame)));
    assert.deepEqual(errors, [got.at(-1)]);
    if (got[0]?.type === undefined) return;
    assert.deepEqual(
      got.map(({ sequence_number }) => sequence_number),
      got.map((_, at) => at),
    );
    assert.equal(got.filter(({ type }) => type === 'response.created').length, 1);
    assert.equal(got.at(-1)?.type, 'response.failed');
    assert.deepEqual(got.at(-1)?.response?.id, got[0]?.response?.id);
  });
}

test('the error of several choices follows both', () => {
  const indexes = frames['two choices']?.flatMap(({ choices }) => choices?.map(({ index }) => index) ?? []);
  assert.deepEqual([...new Set(indexes)].sort(), [0, 1]);
});

/** What each stream got until a shutdown cut it off. */
async function cutStreams(orders: Record<string, [path: string, body: object]>): Promise<Record<string, Frame[]>> {
  const upstream = await startUpstream();
  after(() => upstream.close());
  let close = async () => {};
  const owner = { after: (end: () => Promise<void>) => (close = end) } as unknown as TestContext;
  const target = { provider: 'up', model: 'mock/chunks=1000;interval=20ms' };
  const gateway = await startGateway(owner, {
    // Equal requests wait for each other within a process (docs/scale-out.md).
    server: { processes: 1, shutdown_grace: '100ms' },
    providers: {
      up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' },
      other: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'k' },
    },
    models: {
      chat: { targets: [target] },
      kept: { targets: [target], cache: { ttl: '1h' } },
      single: { targets: [{ ...target, provider: 'other' }] },
    },
  });
  const got: Record<string, Frame[]> = {};
  const ends = Object.entries(orders).map(async ([name, [path, json]]) => {
    const mine: Frame[] = [];
    got[name] = mine;
    const answer = await gateway.fetch(path, { method: 'POST', json });
    assert.equal(answer.status, 200, name);
    let text = '';
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
      const whole = `${text}${piece}`.split('\n\n');
      text = whole.pop() ?? '';
      for (const frame of whole) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data !== undefined) mine.push(JSON.parse(data) as Frame);
      }
    }
  });
  while (Object.keys(orders).some((name) => (got[name]?.length ?? 0) < 9)) await pause(20);
  await close();
  await Promise.all(ends);
  return got;
}
