import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import OpenAI from 'openai';
import { listening } from '../listening.ts';
import { startGateway, testKey } from '../start-gateway.ts';

/* Mistral's models that think answer with a list, which clients of OpenAI's format take for a text and break on. */

const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };
const text = { type: 'text', text: 'Yes.' };
const head = { id: 'c', created: 1, model: 'm' };
const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 };

function streamed(): string {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...(finish_reason && { usage }) })}\n\n`;
  return `${chunk({ role: 'assistant', content: [thinking] })}${chunk({ content: [text] })}${chunk({ content: '' }, 'stop')}data: [DONE]\n\n`;
}

test('thoughts of Mistral are a member beside the text, whole and streamed, but for its own clients', async (t) => {
  const message = { role: 'assistant', content: [thinking, text] };
  const whole = { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      const isStream = body.includes('"stream":true');
      response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
      response.end(isStream ? streamed() : JSON.stringify(whole));
    });
  });
  const gateway = await startGateway(t, {
    providers: { mistral: { type: 'mistral', base_url: `${await listening(t, server)}/v1`, api_key: 'a' } },
    models: {
      magistral: { targets: ['mistral/magistral-medium-latest'] },
      small: { targets: ['mistral/mistral-small-latest'] },
    },
  });
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey });
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  for (const asked of [{ model: 'magistral' }, { model: 'small', reasoning_effort: 'high' as const }]) {
    const answer = (await openai.chat.completions.create({ ...asked, messages })).choices[0]!.message;
    assert.deepEqual([answer.content, 'reasoning_content' in answer && answer.reasoning_content], ['Yes.', 'Hm.']);
    const deltas: object[] = [];
    for await (const { choices } of await openai.chat.completions.create({ ...asked, messages, stream: true }))
      for (const { delta } of choices) deltas.push(delta);
    const joined = (name: string) => deltas.map((delta) => Reflect.get(delta, name) ?? '').join('');
    assert.deepEqual([joined('content'), joined('reasoning_content')], ['Yes.', 'Hm.']);
  }
  const headers = { 'user-agent': 'mistral-client-python/3.7.0' };
  for (const stream of [false, true]) {
    const own = await gateway.fetch('/v1/chat/completions', {
      json: { model: 'magistral', messages, stream },
      headers,
    });
    assert.ok((await own.text()).includes(JSON.stringify(thinking)));
  }
});
