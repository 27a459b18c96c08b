import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* Open models whose servers have no parser of thoughts, and MiniMax's, write them into the text. `think_tags` cuts them out. */

const head = { id: 'c', created: 1, model: 'm' };
const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 };
const texts: Record<string, string> = {
  pair: '<think>\nA < b, </thin or so.\n</think>\n\nYes: a </think> b.',
  closing: 'A < b, </thin or so.\n</think>\n\nYes: a </think> b.',
  plain: 'Yes: a </think> b.',
  unclosed: '<think>Hm',
  short: '<th',
};

let lastBody: JsonObject = {};
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (piece: string) => {
    body += piece;
  });
  request.on('end', () => {
    if (body === '') return void response.writeHead(404).end();
    lastBody = JSON.parse(body) as JsonObject;
    const text = texts[String(lastBody.model)] ?? '';
    response.setHeader('content-type', lastBody.stream ? 'text/event-stream' : 'application/json');
    if (!lastBody.stream) {
      const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
      return void response.end(JSON.stringify({ ...head, object: 'chat.completion', choices: [choice], usage }));
    }
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...(finish_reason && { usage }) })}\n\n`;
    // Each letter alone: a tag may come in any pieces.
    response.end(`${[...text].map((content) => chunk({ content })).join('')}${chunk({}, 'stop')}data: [DONE]\n\n`);
  });
});
const t = { after: after as TestContext['after'] };
const gateway = await startGateway(t, {
  providers: { open: { type: 'minimax', base_url: `${await listening(t as TestContext, server)}/v1`, api_key: 'a' } },
  models: Object.fromEntries(
    Object.keys(texts).map((model) => {
      const tags = model === 'closing' ? 'closing' : 'pair';
      return [model, { targets: [{ provider: 'open', model, think_tags: tags }] }];
    }),
  ),
});

const parts: Record<string, [content: string, thought: string | undefined]> = {
  pair: ['Yes: a </think> b.', 'A < b, </thin or so.\n'],
  closing: ['Yes: a </think> b.', 'A < b, </thin or so.\n'],
  plain: ['Yes: a </think> b.', undefined],
  unclosed: ['', 'Hm'],
  short: ['<th', undefined],
};
const question = { role: 'user', content: 'Hi' };
for (const [model, [content, thought]] of Object.entries(parts)) {
  test(`a text with its thought becomes both, whole and streamed: ${model}`, async () => {
    const json = { model, messages: [question] };
    const whole = await gateway.fetch('/v1/chat/completions', { json });
    const { choices } = (await whole.json()) as { choices: { message: JsonObject }[] };
    assert.deepEqual([choices[0]!.message.content, choices[0]!.message.reasoning_content], [content, thought]);
    const events = await gateway.fetch('/v1/chat/completions', { json: { ...json, stream: true } });
    const deltas = (await events.text()).split('\n\n').flatMap((event): JsonObject[] => {
      if (!event.startsWith('data: {')) return [];
      return (JSON.parse(event.slice(6)) as { choices: { delta: JsonObject }[] }).choices.map(({ delta }) => delta);
    });
    const joined = (name: string) => deltas.map((delta) => delta[name] ?? '').join('');
    assert.deepEqual([joined('content'), joined('reasoning_content')], [content, thought ?? '']);
  });
}

test('callers of other formats get the thought too, and it goes back in the text', async () => {
  const answer = await gateway.fetch('/v1beta/models/pair:generateContent', {
    json: {
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    },
  });
  const [candidate] = ((await answer.json()) as { candidates: { content: { parts: JsonObject[] } }[] }).candidates;
  assert.deepEqual(
    candidate!.content.parts.map(({ text, thought }) => [text, thought]),
    [
      ['A < b, </thin or so.\n', true],
      ['Yes: a </think> b.', undefined],
    ],
  );
  const turn = { role: 'assistant', content: 'Yes.', reasoning_content: 'Hm.' };
  await gateway.fetch('/v1/chat/completions', { json: { model: 'pair', messages: [question, turn, question] } });
  const [, sent] = lastBody.messages as JsonObject[];
  assert.deepEqual(sent, { role: 'assistant', content: '<think>\nHm.\n</think>\n\nYes.' });
});
