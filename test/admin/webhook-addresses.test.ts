import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { Writable } from 'node:stream';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { callAdmin } from '../call-admin.ts';
import { listening } from '../listening.ts';
import { adminKey, overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

/* Addresses of webhooks, whose paths may be secrets, wherever people see a configuration. */

const upstream = await startUpstream();
after(() => upstream.close());
const asked: string[] = [];
const service = createServer((request, response) => {
  asked.push(request.url ?? '');
  request.resume().on('end', () => response.writeHead(500).end());
});
const origin = await listening({ after }, service);
const path = '/services/T000/a-token-in-the-path';
const url = `${origin}${path}`;
const secret = 'w'.repeat(32);
let lines = '';
const sink = new Writable({
  write(chunk, _, done) {
    lines += String(chunk);
    done();
  },
});
const hooks = { after: after as never };
const gateway = await startGateway(
  hooks,
  {
    ...overUpstreams(upstream.url),
    hooks: { team: { type: 'webhook', url, secret, events: ['onSettled'] } },
    guards: { fixed: { check: 'webhook', url, action: 'block', on_error: 'allow' } },
    plans: { default: { rpm: 'off', guards: ['fixed'] } },
    callers: { webhook: { url, secret } },
    keys: [{ key: testKey, account: 'dev', name: 'test' }],
  },
  { log: pino({ base: null, level: 'debug' }, sink) },
);
const shownUrl = `${origin}/secret`;

async function text(route: string): Promise<string> {
  const headers = { authorization: `Bearer ${adminKey}` };
  return (await gateway.fetch(`/admin/v1${route}`, { headers })).text();
}

const chat = (key: string) =>
  gateway.fetch('/v1/chat/completions', {
    json: { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] },
    headers: { authorization: `Bearer ${key}` },
  });

test('a stored webhook shows its host, and stays as it is where the shown address comes back', async () => {
  const made = await callAdmin<{ definition: { url: string }; version: number }>(gateway, 'POST', '/guards', {
    ...{ name: 'stored', check: 'webhook', url, action: 'block', on_error: 'allow' },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(made.body.definition.url, shownUrl);
  const patch = { ...made.body.definition, deadline: '200ms' };
  const changed = await callAdmin<{ definition: object; version: number }>(gateway, 'PATCH', '/guards/stored', {
    ...patch,
    version: made.body.version,
  });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  await callAdmin(gateway, 'PUT', '/plans/stored', { rpm: 'off', guards: ['stored'] });
  await callAdmin(gateway, 'POST', '/accounts', { id: 'acme', plan: 'stored' });
  const { body } = await callAdmin<{ key: string }>(gateway, 'POST', '/keys', { account: 'acme', name: 'k' });
  asked.length = 0;
  await (await chat(body.key)).text();
  assert.ok(asked.includes(path), 'the service is asked at its path');

  const { version } = changed.body;
  const moved = await callAdmin(gateway, 'PATCH', '/guards/stored', { url: `${origin}/moved`, version });
  assert.equal(moved.status, 200, JSON.stringify(moved.body));
  asked.length = 0;
  await (await chat(body.key)).text();
  assert.ok(asked.includes('/moved'), 'an address that is not the shown one replaces it');
});

test('neither configuration, lists, audit log nor log show the path', async () => {
  asked.length = 0;
  await (await chat(testKey)).text();
  // Nobody knows it here, so the webhook of keys is asked.
  await (await chat('key-of-another-system')).text();
  await until('guard, hook and webhook of keys are asked', () => asked.length >= 3);
  const config = await text('/config');
  assert.ok(config.split(shownUrl).length > 3, config);
  for (const route of ['/config', '/config/export', '/guards', '/guards/stored', '/audit', '/hooks', '/overview']) {
    assert.ok(!(await text(route)).includes('a-token-in-the-path'), route);
  }
  assert.ok(lines.length > 100);
  assert.ok(!lines.includes('a-token-in-the-path'), lines);
});
