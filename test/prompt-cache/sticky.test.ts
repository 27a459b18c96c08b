// It compares times, so it is alone in its process.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { textOf } from './conversations.ts';

const upstream = await startUpstream();
after(upstream.close);
const at = (name: string) => ({ type: 'openai', base_url: `${upstream.url}/${name}/v1`, api_key: 'k' });
// Both take a while, so that a busy machine makes neither of them many times slower than the other.
const gateway = await startGateway({ after } as TestContext, {
  providers: { a: at('a'), b: at('b') },
  models: { smart: { prompt_cache: 'auto', targets: ['a/mock/delay=25ms', 'b/mock/delay=25ms'] } },
});

type Turn = { role: 'user' | 'assistant'; content: string };

const instructions = textOf(2_000);
const formats: Record<string, { path: string; body(turns: readonly Turn[]): object }> = {
  chat: {
    path: '/v1/chat/completions',
    body: (turns) => ({ messages: [{ role: 'system', content: instructions }, ...turns] }),
  },
  messages: {
    path: '/v1/messages',
    body: (turns) => ({ max_tokens: 50, system: instructions, messages: turns }),
  },
  responses: { path: '/v1/responses', body: (turns) => ({ store: false, instructions, input: turns }) },
  gemini: {
    path: '/v1beta/models/smart:generateContent',
    body: (turns) => ({
      systemInstruction: { parts: [{ text: instructions }] },
      contents: turns.map(({ role, content }) => ({
        role: role === 'user' ? 'user' : 'model',
        parts: [{ text: content }],
      })),
    }),
  },
};

async function targetOf(format: string, turns: readonly Turn[], key?: string): Promise<string> {
  const { path, body } = formats[format]!;
  const answer = await gateway.fetch(path, {
    method: 'POST',
    ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
    json: { ...(format !== 'gemini' && { model: 'smart' }), ...body(turns) },
  });
  assert.equal(answer.status, 200, await answer.text());
  return String(answer.headers.get('x-culvert-provider'));
}

/** Its turns of the user: all begin alike, as an application's template does, and end with the question. */
const questions = (name: string, turns: number): Turn[] =>
  Array.from({ length: turns }, (_, at): Turn[] => [
    ...(at > 0 ? [{ role: 'assistant' as const, content: `answer ${at}` }] : []),
    { role: 'user', content: `${textOf(300, 'template')} ${name}, question ${at}` },
  ]).flat();

for (const format of Object.keys(formats)) {
  test(`${format}: turns of a conversation without a session go to one target, and conversations spread`, async () => {
    // Both targets have been measured before a turn is counted.
    for (let at = 0; at < 8; at += 1) await targetOf(format, questions(`warm-up ${at}`, 1));
    const homes: string[] = [];
    for (let at = 0; at < 16; at += 1) {
      const home = await targetOf(format, questions(`talk ${at}`, 1));
      homes.push(home);
      for (const turns of [2, 3, 4]) assert.equal(await targetOf(format, questions(`talk ${at}`, turns)), home);
    }
    assert.equal(new Set(homes).size, 2, homes.join(' '));
  });
}

test("another tenant's equal conversation has a place that does not follow from ours", async () => {
  const same: boolean[] = [];
  for (let at = 0; at < 16; at += 1) {
    const turns = questions(`talk ${at}`, 1);
    same.push((await targetOf('chat', turns)) === (await targetOf('chat', turns, otherKey)));
  }
  assert.ok(same.includes(true) && same.includes(false), same.join(' '));
});
