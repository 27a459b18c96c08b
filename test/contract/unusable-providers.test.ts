import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

test('a model none of whose providers could be made ready is 503, and says that the configuration is why', async (t) => {
  const gateway = await startGateway(t, {
    providers: { broken: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'two\nlines' } },
    models: { smart: { targets: ['broken/gpt-x'] } },
  });
  const answer = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'smart', messages: [{ role: 'user', content: 'Hi' }] },
  });
  const { error } = (await answer.json()) as { error: { message: string } };
  assert.equal(answer.status, 503, error.message);
  assert.match(error.message, /No provider of the model 'smart' can be used with the present configuration/);
});
