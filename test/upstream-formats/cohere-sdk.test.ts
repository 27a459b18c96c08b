import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CohereClientV2, CohereError } from 'cohere-ai';
import { startUpstream } from '../start-upstream.ts';

/* The scriptable upstream is what Cohere's own SDK takes for Chat v2. */

const messages = [{ role: 'user' as const, content: 'Hello there' }];
const tool = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const documents = [{ id: 'mine', data: { title: 'A page', text: 'Hello there, it says.' } }];

async function clientOf(t: { after(end: () => Promise<void>): void }) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return { upstream, client: new CohereClientV2({ environment: upstream.url, token: 'k' }) };
}

test("Cohere's SDK reads a whole answer, its citations and what was billed", async (t) => {
  const { client } = await clientOf(t);
  const answer = await client.chat({ model: 'mock-ok', messages, documents });
  const [content] = answer.message.content!;
  assert.ok(content?.type === 'text' && /Hello there/.test(content.text));
  assert.equal(answer.finishReason, 'COMPLETE');
  const [citation] = answer.message.citations!;
  assert.equal(content.text.slice(citation!.start, citation!.end), citation!.text);
  assert.equal(citation!.sources![0]!.id, 'mine');
  assert.ok(answer.usage!.billedUnits!.inputTokens! < answer.usage!.tokens!.inputTokens!);
});

test("Cohere's SDK reads streams with thoughts, texts, plans, calls and citations", async (t) => {
  const { client } = await clientOf(t);
  const seen = async (request: Omit<Parameters<typeof client.chatStream>[0], 'model' | 'messages'>) => {
    const types = new Set<string>();
    let text = '';
    let args = '';
    for await (const event of await client.chatStream({ model: 'mock-reasoning', messages, ...request })) {
      types.add(event.type);
      if (event.type === 'content-delta') text += event.delta?.message?.content?.text ?? '';
      if (event.type === 'tool-call-delta') args += event.delta?.message?.toolCalls?.function?.arguments ?? '';
    }
    return { types: [...types], text, args };
  };
  const said = await seen({ documents });
  assert.match(said.text, /Hello there/);
  const text = ['message-start', 'content-start', 'content-delta', 'content-end'];
  assert.deepEqual(said.types, [...text, 'citation-start', 'citation-end', 'message-end']);
  const called = await seen({ tools: [tool], toolChoice: 'REQUIRED' });
  assert.equal(typeof JSON.parse(called.args).city, 'string');
  const calls = ['tool-plan-delta', 'tool-call-start', 'tool-call-delta', 'tool-call-end', 'message-end'];
  assert.deepEqual(called.types.slice(-calls.length), calls);
});

test("Cohere's SDK sees the upstream's errors as Cohere's", async (t) => {
  const { client, upstream } = await clientOf(t);
  upstream.script('/v2/chat', ['status=401']);
  await assert.rejects(client.chat({ model: 'mock-ok', messages }, { maxRetries: 0 }), (error) => {
    assert.ok(error instanceof CohereError);
    return error.statusCode === 401 && typeof (error.body as { message: unknown }).message === 'string';
  });
  await assert.rejects(client.chat({ model: 'mock-ok', messages, temperature: 2 }), { statusCode: 400 });
});
