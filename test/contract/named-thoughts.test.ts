import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/*
 * vLLM, OpenRouter, Groq and Together call thoughts `reasoning`; DeepSeek, SGLang and Moonshot `reasoning_content`, which
 * most clients read alone.
 */

const head = { id: 'c', created: 1, model: 'm' };
const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 };
/** A name of thoughts: the service has it in the model's id. */
const nameIn = (body: string) => (body.includes('"model":"old"') ? 'reasoning_content' : 'reasoning');

function streamed(name: string): string {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...(finish_reason && { usage }) })}\n\n`;
  const deltas = [
    { role: 'assistant', content: '' },
    { [name]: 'Hm' },
    { content: null, [name]: '.' },
    { [name]: '"\\n' },
  ];
  return `${[...deltas, { content: 'Yes' }, { content: '.' }].map((delta) => chunk(delta)).join('')}${chunk({}, 'stop')}data: [DONE]\n\n`;
}

let lastBody: JsonObject = {};
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (piece: string) => {
    body += piece;
  });
  request.on('end', () => {
    if (body === '') return void response.writeHead(404).end();
    lastBody = JSON.parse(body) as JsonObject;
    const message = { role: 'assistant', content: 'Yes.', [nameIn(body)]: 'Hm."\\n' };
    const whole = {
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage,
    };
    response.setHeader('content-type', lastBody.stream ? 'text/event-stream' : 'application/json');
    response.end(lastBody.stream ? streamed(nameIn(body)) : JSON.stringify(whole));
  });
});
const t = { after: after as TestContext['after'] };
const base_url = `${await listening(t as TestContext, server)}/v1`;
const types = ['vllm', 'openrouter', 'groq', 'cerebras', 'mistral', 'sglang'];
const gateway = await startGateway(t, {
  providers: Object.fromEntries(types.map((type) => [type, { type, base_url, api_key: 'a' }])),
  models: {
    ...Object.fromEntries(types.map((type) => [type, { targets: [`${type}/new`] }])),
    old: { targets: ['sglang/old'] },
    magistral: { targets: ['mistral/magistral-medium-latest'] },
  },
});
const question = { role: 'user', content: 'Hi' };
const ask = (json: object) => gateway.fetch('/v1/chat/completions', { json });

for (const [model, names] of Object.entries({ vllm: 2, openrouter: 2, groq: 2, old: 1 })) {
  test(`${model}: a thought is in reasoning_content, whole and streamed, and in the vendor's own name`, async () => {
    const whole = (await (await ask({ model, messages: [question] })).json()) as { choices: { message: JsonObject }[] };
    const { content, reasoning_content: thought, reasoning = thought } = whole.choices[0]!.message;
    assert.deepEqual([content, thought, reasoning], ['Yes.', 'Hm."\\n', 'Hm."\\n']);
    const events = await (await ask({ model, messages: [question], stream: true })).text();
    const deltas = events.split('\n\n').flatMap((event): JsonObject[] => {
      if (!event.startsWith('data: {')) return [];
      return (JSON.parse(event.slice(6)) as { choices: { delta: JsonObject }[] }).choices.map(({ delta }) => delta);
    });
    const joined = (name: string) => deltas.map((delta) => delta[name] ?? '').join('');
    assert.deepEqual([joined('content'), joined('reasoning_content')], ['Yes.', 'Hm."\\n']);
    assert.equal(joined('reasoning'), names === 2 ? 'Hm."\\n' : '');
    assert.ok(events.endsWith('data: [DONE]\n\n'));
  });
}

const turn = { role: 'assistant', content: 'Yes.', reasoning_content: 'Hm.' };
const part = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };
const sent: Record<string, JsonObject> = {
  vllm: { ...turn, reasoning: 'Hm.' },
  openrouter: turn,
  groq: { role: 'assistant', content: 'Yes.', reasoning: 'Hm.' },
  cerebras: { role: 'assistant', content: 'Yes.', reasoning: 'Hm.' },
  magistral: { role: 'assistant', content: [part, { type: 'text', text: 'Yes.' }] },
  // It does not think.
  mistral: { role: 'assistant', content: 'Yes.' },
};
for (const [model, message] of Object.entries(sent)) {
  test(`${model}: a thought in reasoning_content goes back in the word of the service`, async () => {
    await (await ask({ model, messages: [question, turn, question] })).text();
    assert.deepEqual((lastBody.messages as JsonObject[])[1], message);
  });
}
