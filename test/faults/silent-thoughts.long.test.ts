import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

const silentMs = 31_000;
const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

test('a model of a family that thinks is not cut while its API shows no thoughts; one that does not think is, after 30 s', async (t) => {
  const url = await listening(
    t,
    createServer(async (request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ role: 'assistant', content: '' }));
      await after(silentMs);
      response.write(chunk({ content: 'Yes' }));
      await after(silentMs);
      response.end(`${chunk({ content: '.' })}${chunk({}, 'stop')}data: [DONE]\n\n`);
    }),
  );
  const { fetch } = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: url, api_key: 'secret' } },
    models: { thinks: { targets: ['up/gpt-7-pro'] }, answers: { targets: ['up/gpt-4o'] } },
  });
  const [thinks, answers] = await Promise.all(
    ['thinks', 'answers'].map(async (model) => {
      const json = { model, stream: true, messages: [{ role: 'user', content: 'Is it so?' }] };
      return (await fetch('/v1/chat/completions', { json })).text();
    }),
  );
  assert.match(thinks!, /: keep-alive\n\n.*"Yes".*: keep-alive\n\n.*"\."}.*\[DONE\]/s);
  assert.match(answers!, /sent no content within 30 s/);
});
