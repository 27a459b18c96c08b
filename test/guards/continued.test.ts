import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { until } from '../until.ts';
import { startModel } from './start-model.ts';

/*
 * A kept response has the values that its caller got back. Guards read it again with each request that continues it, so
 * that no value that was masked once goes to a model later.
 */

const upstream = await startModel(after);
upstream.says = (body) => `To ${/<EMAIL_\d>/.exec(body)?.[0]} now`;
const guard = { check: 'personal-data', kinds: ['email'] };
const model = (name: string) => ({ targets: [{ provider: 'openai', model: 'm' }], guards: [name] });
const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: upstream.url, api_key: 'k' } },
  guards: {
    masks: { ...guard, action: 'mask' },
    lenient: { ...guard, action: 'mask', on_error: 'allow' },
    flags: { ...guard, action: 'flag' },
  },
  models: { masks: model('masks'), lenient: model('lenient'), flags: model('flags') },
});

for (const stream of [false, true]) {
  test(`what was given back in a kept response does not go to a model again: ${stream ? 'streamed' : 'whole'}`, async () => {
    const respond = async (name: string, more: object) => {
      const response = await gateway.fetch('/v1/responses', { json: { model: name, store: true, ...more } });
      return { status: response.status, text: await response.text(), guard: response.headers.get('x-culvert-guard') };
    };
    const first = await respond('masks', { input: 'Write to jo.doe@example.org', stream });
    assert.ok(first.status === 200 && first.text.includes('jo.doe@example.org'), first.text);
    const [, id = ''] = /"id": ?"(resp_[^"]+)"/.exec(first.text) ?? [];
    const items = await gateway.fetch(`/v1/responses/${id}/input_items`);
    const kept = await items.text();
    assert.ok(kept.includes('<EMAIL_1>') && !kept.includes('jo.doe'), kept);
    upstream.bodies.length = 0;
    const second = await respond('masks', {
      input: 'Again, and to al.poe@example.net?',
      previous_response_id: id,
      stream,
    });
    assert.equal(second.status, 200, second.text);
    assert.match(second.guard ?? '', /^masks=masked:2; scanned=100%$/);
    const [sent = ''] = upstream.bodies;
    assert.ok(!sent.includes('@example') && sent.includes('<EMAIL_1>') && sent.includes('<EMAIL_2>'), sent);
    assert.match(sent, /Again, and to <EMAIL_3>\?/);
    const [, next = ''] = /"id": ?"(resp_[^"]+)"/.exec(second.text) ?? [];
    assert.ok(second.text.includes(`"previous_response_id":"${id}"`), second.text);
    // It keeps its own items alone, and those masked: the list has each turn once.
    const listed = await (await gateway.fetch(`/v1/responses/${next}/input_items`)).text();
    assert.ok(listed.includes('Again, and to <EMAIL_3>?') && listed.split('Write to').length === 2, listed);
    const third = await respond('masks', { input: 'And now?', previous_response_id: next, stream });
    assert.equal(third.status, 200, third.text);
    assert.ok(upstream.bodies[1]?.includes('And now?') && !upstream.bodies[1].includes('@example'), upstream.bodies[1]);
    assert.equal(upstream.bodies[1]?.split('Again, and to').length, 2);
    const allowed = await respond('lenient', { input: 'Again?', previous_response_id: id, stream });
    assert.ok(allowed.status === 200 && allowed.guard?.endsWith('; scanned=100%'), `${allowed.guard} ${allowed.text}`);
    assert.ok(!upstream.bodies[2]?.includes('@example'));
    const flagged = await respond('flags', { input: 'Again?', previous_response_id: id, stream });
    assert.ok(flagged.status === 200 && flagged.guard?.endsWith('; scanned=100%'), `${flagged.guard} ${flagged.text}`);
  });
}

test('a member whose name is written with escapes brings no kept turn in unread', async () => {
  upstream.bodies.length = 0;
  const json = { model: 'masks', store: true, input: 'Write to jo.doe@example.org' };
  const { id } = (await (await gateway.fetch('/v1/responses', { json })).json()) as { id: string };
  const body = `{"model":"masks","input":"Again?","\\u0070revious_response_id":"${id}"}`;
  const headers = { 'content-type': 'application/json' };
  const response = await gateway.fetch('/v1/responses', { method: 'POST', headers, body });
  assert.equal(response.status, 200, await response.text());
  assert.equal(upstream.bodies.length, 2);
  for (const sent of upstream.bodies) assert.ok(!sent.includes('@example'), sent);
});

test('a conversation, a compaction and a response in the background go to a model masked, too', async () => {
  upstream.bodies.length = 0;
  const post = async (path: string, json: object) => {
    const response = await gateway.fetch(path, { json });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  };
  const { id: conversation } = await post('/v1/conversations', {});
  await post('/v1/responses', { model: 'masks', conversation, input: 'Write to jo.doe@example.org' });
  await post('/v1/responses', { model: 'masks', conversation, input: 'Again?' });
  const listed = await gateway.fetch(`/v1/conversations/${conversation}/items`);
  const kept = (await listed.json()) as { data: object[] };
  assert.equal(kept.data.length, 4, JSON.stringify(kept));
  const first = await post('/v1/responses', { model: 'masks', store: true, input: 'Write to jo.doe@example.org' });
  const compacted = await post('/v1/responses/compact', { model: 'masks', previous_response_id: first.id });
  await post('/v1/responses', { model: 'masks', input: [...compacted.output, { role: 'user', content: 'Again?' }] });
  const run = await post('/v1/responses', {
    model: 'masks',
    background: true,
    input: 'Later?',
    previous_response_id: first.id,
  });
  await until('it has run', async () => {
    const response = await gateway.fetch(`/v1/responses/${run.id}`);
    return ((await response.json()) as { status: string }).status === 'completed';
  });
  assert.ok(upstream.bodies.length >= 6, String(upstream.bodies.length));
  for (const body of upstream.bodies) assert.ok(!body.includes('@example'), body);
});

test('a compaction in a conversation is read with it, whatever guards the model that made it has', async (t) => {
  const { says } = upstream;
  t.after(() => {
    upstream.says = says;
  });
  upstream.says = () => 'To jo.doe@example.org now';
  const post = async (path: string, json: object) => (await (await gateway.fetch(path, { json })).json()) as Kept;
  const { output } = await post('/v1/responses/compact', { model: 'flags', input: 'Whom?' });
  const { id: conversation } = await post('/v1/conversations', { items: output });
  await post('/v1/responses', { model: 'masks', input: 'And then?', conversation });
  const last = upstream.bodies.at(-1) ?? '';
  assert.ok(last.includes('And then?') && last.includes('<EMAIL_1>') && !last.includes('@example'), last);
});

interface Kept {
  id: string;
  output: object[];
}
