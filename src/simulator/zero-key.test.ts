import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { startUpstream } from '../../test/start-upstream.ts';

const upstream = await startUpstream({ purpose: 'zero-key' });
after(() => upstream.close());
const client = new OpenAI({ baseURL: `${upstream.url}/v1`, apiKey: 'none', maxRetries: 0 });
const hi = (content: string) => ({ model: 'sim/chat', messages: [{ role: 'user' as const, content }] });

test('the answer says at once that it is simulated, how to change that, and what it heard', async () => {
  const { data, response } = await client.chat.completions.create(hi('What is a culvert?')).withResponse();
  const text = data.choices[0]?.message.content ?? '';
  assert.match(text, /^\[simulated\] /);
  assert.match(text, /OPENAI_API_KEY=.*culvert\.yaml.*“What is a culvert\?”$/);
  assert.equal(response.headers.get('x-culvert-simulated'), 'true');
  assert.equal(data.model, 'sim/chat');
});

test('a long question is echoed by its beginning, whole characters only', async () => {
  const answer = await client.chat.completions.create(hi(`${'a'.repeat(79)}👋${'b'.repeat(500)}`));
  const text = answer.choices[0]?.message.content ?? '';
  assert.ok(text.endsWith(`“${'a'.repeat(79)}…”`), text);
});

test('what Claude Code puts before its user’s words is not echoed', async () => {
  const noted = '<system-reminder>\nNote this.\n</system-reminder>\n';
  for (const [words, echo] of [
    [`${noted}${noted}say hi`, '“say hi”'],
    ['<system-reminder> say hi', '“<system-reminder> say hi”'],
  ] as const) {
    const answer = await client.chat.completions.create(hi(words));
    assert.ok(answer.choices[0]?.message.content?.endsWith(echo), words);
  }
});

test('the stream says the same', async () => {
  const whole = await client.chat.completions.create(hi('hello'));
  let text = '';
  for await (const chunk of await client.chat.completions.create({ ...hi('hello'), stream: true })) {
    text += chunk.choices[0]?.delta.content ?? '';
  }
  assert.equal(text, whole.choices[0]?.message.content);
});

test('Messages answer likewise', async () => {
  const response = await fetch(`${upstream.url}/v1/messages`, {
    method: 'POST',
    body: JSON.stringify({ ...hi('hello'), max_tokens: 100 }),
  });
  const { content } = (await response.json()) as { content: { text: string }[] };
  assert.match(content[0]?.text ?? '', /^\[simulated\] /);
});

test('it lists what it simulates', async () => {
  assert.deepEqual(
    (await client.models.list()).data.map((model) => model.id),
    ['sim/chat', 'sim/embedding', 'sim/speech', 'sim/transcription', 'sim/image'],
  );
});

test('no faults, no control, and nothing of what callers say is kept', async () => {
  const answer = await client.chat.completions.create(
    { ...hi('secret'), model: 'mock/status=503' },
    { headers: { 'x-mock': 'status=503' } },
  );
  assert.equal(answer.object, 'chat.completion');
  assert.equal((await fetch(`${upstream.url}/_mock/requests`)).status, 404);
  assert.deepEqual(upstream.requests(), []);
});
