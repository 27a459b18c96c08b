import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { callAdmin } from '../call-admin.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { until } from '../until.ts';

const dayMs = 86_400_000;
const dayIn = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);

test('a model that its provider shuts down within 30 days is named with the day, and no other', async (t) => {
  const rows = [
    { id: 'gpt-old', shutdown_date: dayIn(10) },
    { id: 'gpt-over', shutdown_date: dayIn(-1) },
    { id: 'gpt-later', shutdown_date: dayIn(90) },
    { id: 'gpt-new', shutdown_date: null },
    { id: 'gpt-odd', shutdown_date: 'soon' },
  ];
  const list = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'list', data: rows }));
  });
  const url = await listening(t, list);
  const target = (model: string) => ({ provider: 'vendor', model });
  const gateway = await startGateway(t, {
    providers: { vendor: { type: 'openai', base_url: `${url}/v1`, api_key: 'a' } },
    models: {
      smart: { targets: [target('gpt-new'), target('gpt-old'), target('gpt-over')] },
      small: { targets: [target('gpt-new'), target('gpt-later'), target('gpt-odd')] },
    },
  });
  const wrong = async () => {
    const { body } = await callAdmin<{ wrong: { text: string }[] }>(gateway, 'GET', '/overview?range=1h');
    return body.wrong.filter(({ text }) => text.includes('shut down'));
  };
  await until('its list was read', async () => (await wrong()).length > 0, 15_000);
  assert.deepEqual(await wrong(), [
    {
      severity: 'warning',
      text: `Providers shut down targets of the model smart: vendor/gpt-old on ${dayIn(10)}, vendor/gpt-over on ${dayIn(-1)}.`,
      page: 'models',
      id: 'smart',
    },
  ]);
});
