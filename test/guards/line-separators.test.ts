import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* U+2028 and U+2029 end a line for regular expressions, and not in server-sent events: JSON may hold them as they are. */

const upstream = createServer(async (request, response) => {
  for await (const _ of request);
  response.setHeader('content-type', 'text/event-stream');
  for (const separator of ['\u2028', '\u2029']) {
    const text = `Dear all,${separator}write to ada@example.com.${separator}data: end `;
    response.write(
      `data: ${JSON.stringify({ id: 'c', object: 'text_completion', choices: [{ index: 0, text }] })}\n\n`,
    );
  }
  const choices = [{ index: 0, text: '', finish_reason: 'stop' }];
  response.write(`data: ${JSON.stringify({ id: 'c', object: 'text_completion', choices })}\n\n`);
  response.end('data: [DONE]\n\n');
});
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `${await listening({ after }, upstream)}/v1`, api_key: 'k' } },
  guards: { mask: { check: 'personal-data', kinds: ['email'], on: ['output'], action: 'mask' } },
  models: { m: { targets: ['up/m'], guards: ['mask'] } },
});

test('a guard reads events to their end, also behind separators of Unicode', async () => {
  const response = await gateway.fetch('/v1/completions', { json: { model: 'm', prompt: 'Hi', stream: true } });
  const stream = await response.text();
  const events = stream.split('\n\n').filter((event) => event.startsWith('data: {'));
  const texts = events.map((event) => JSON.parse(event.slice('data: '.length)).choices[0].text);
  assert.equal(
    texts.join(''),
    ['\u2028', '\u2029'].map((separator) => `Dear all,${separator}write to <EMAIL_1>.${separator}data: end `).join(''),
  );
});
