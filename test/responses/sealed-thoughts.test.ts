import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import OpenAI, { APIError } from 'openai';
import type { Response, ResponseInput } from 'openai/resources/responses/responses';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * `include: ["reasoning.encrypted_content"]` by OpenAI's SDK, over a chat model that gives its thoughts as text: the
 * caller brings them back itself, with `store: false`.
 */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k', dialects: ['openai-chat'] } },
    models: { think: { targets: ['up/mock/slow-reasoning=10ms'] } },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: otherKey, account: 'other', name: 'test' },
    ],
  },
);
const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
const client = clientOf(testKey);
const shared = { model: 'think', store: false, include: ['reasoning.encrypted_content' as const] };
const input = [{ role: 'user' as const, content: 'hello there' }];
const thoughtIn = ({ output }: Response) => output.find((item) => item.type === 'reasoning')!;
const lastMessages = () => JSON.stringify(upstream.requests().findLast(({ body }) => body !== null)!.body);

async function streamed(more: object = {}): Promise<{ done: string[]; response: Response }> {
  const done: string[] = [];
  let response: Response | null = null;
  for await (const event of await client.responses.create({ ...shared, input, stream: true, ...more })) {
    if (event.type === 'response.output_item.done' && event.item.type === 'reasoning') {
      done.push(event.item.encrypted_content ?? '');
    }
    if (event.type === 'response.completed') response = event.response;
  }
  return { done, response: response! };
}

/** The thought alone, without its text, as clients send it that keep the encrypted content. */
const broughtBack = ({ output }: Response): ResponseInput => {
  const items = output.map((item) => (item.type === 'reasoning' ? { ...item, summary: [], content: undefined } : item));
  return [...input, ...(items as ResponseInput), { role: 'user', content: 'go on' }];
};

test('a thought of a chat model is sealed, whole and streamed, and says what it said when it comes back', async () => {
  const whole = await client.responses.create({ ...shared, input });
  const stream = await streamed();
  assert.deepEqual(stream.done, [thoughtIn(stream.response).encrypted_content]);
  for (const response of [whole, stream.response]) {
    const { encrypted_content: sealed, summary, content } = thoughtIn(response);
    const text = [...summary, ...(content ?? [])].map((part) => part.text).join('\n\n');
    assert.ok(text.length > 0 && !sealed!.includes(text));
    await client.responses.create({ ...shared, input: broughtBack(response) });
    assert.ok(lastMessages().includes(JSON.stringify(text).slice(1, -1)), lastMessages());
  }
});

test('a request without the word gets no sealed thought', async () => {
  const { include: _, ...plain } = shared;
  const response = await client.responses.create({
    ...plain,
    input: [{ role: 'user', content: 'reasoning.encrypted_content' }],
  });
  assert.equal(thoughtIn(response).encrypted_content ?? null, null);
});

test('a stored response keeps its sealed thought, so that the next turn has it', async () => {
  const first = await client.responses.create({ ...shared, store: true, input });
  const text = thoughtIn(first)
    .summary.map((part) => part.text)
    .join('\n\n');
  await client.responses.create({ ...shared, store: true, input: 'go on', previous_response_id: first.id });
  assert.ok(lastMessages().includes(JSON.stringify(text).slice(1, -1)), lastMessages());
});

test('a thought that was changed, or of another key, is refused as OpenAI refuses it', async () => {
  const response = await client.responses.create({ ...shared, input });
  const { encrypted_content: sealed } = thoughtIn(response);
  const changed = (at: number) => `${sealed!.slice(0, at)}${sealed![at] === 'A' ? 'B' : 'A'}${sealed!.slice(at + 1)}`;
  const items = (content: string) =>
    broughtBack(response).map((item) =>
      'type' in item && item.type === 'reasoning' ? { ...item, encrypted_content: content } : item,
    );
  for (const [by, sent] of [
    [client, items(changed(40))],
    [client, items(sealed!.slice(0, -8))],
    [clientOf(otherKey), items(sealed!)],
  ] as const) {
    await assert.rejects(by.responses.create({ ...shared, input: sent }), (error) => {
      assert.ok(error instanceof APIError);
      assert.deepEqual([error.status, error.code], [400, 'invalid_encrypted_content']);
      assert.equal(error.param, 'input[1].encrypted_content');
      return true;
    });
  }
});
