import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema } from './schema.ts';
import { writtenSettings } from './written-settings.ts';

const settingsOf = (file: object) => writtenSettings(configSchema.parse(file));
const setIn = (file: object) =>
  Object.fromEntries(settingsOf(file).flatMap(({ path, value, from }) => (from === 'set' ? [[path, value]] : [])));

test('an empty file has defaults alone, as the file writes them', () => {
  assert.deepEqual(setIn({}), {});
  const values = new Map(settingsOf({}).map(({ path, value }) => [path, value]));
  const expected = { 'server.body_limit': '32mb', 'server.drain_delay': '0s', 'telemetry.alerts.error_rate': '20%' };
  for (const [path, value] of Object.entries(expected)) assert.equal(values.get(path), value, path);
});

test('what a file sets is marked, in its largest whole unit, and equal to a default is not', () => {
  const file = {
    server: { body_limit: '1536kb', upload_limit: '102400kb', host: '::1' },
    providers: { groq: { type: 'groq', api_key: 'x', http2: false, timeouts: { first_token: '90s' } } },
    fetch: { ports: [443] },
  };
  assert.deepEqual(setIn(file), {
    'server.host': '::1',
    'server.body_limit': '1536kb',
    'providers.groq.type': 'groq',
    'providers.groq.api_key': 'x',
    'providers.groq.timeouts.first_token': '90s',
    'fetch.ports': '443',
  });
});
