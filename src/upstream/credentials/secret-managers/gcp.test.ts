import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transport } from '../../transport/upstream-call.ts';
import { gcpReader } from './gcp.ts';

/** Address at which the reader asks for a secret of this name. */
async function askedFor(name: string, env: Record<string, string> = {}): Promise<string> {
  let asked = '';
  const transport = {
    send({ origin, path }, observer) {
      asked = origin + path;
      setImmediate(() => observer.failed({ kind: 'connect', message: 'not here' }));
      return { abort: () => undefined, pause: () => undefined, resume: () => undefined };
    },
  } as Pick<Transport, 'send'> as Transport;
  await assert.rejects(gcpReader({ env, transport })(name));
  return asked;
}

test('a secret of a location is read at the address of that location', async () => {
  const cases = {
    'projects/p/secrets/s': 'https://secretmanager.googleapis.com/v1/projects/p/secrets/s/versions/latest:access',
    'projects/p/locations/europe-west3/secrets/s':
      'https://secretmanager.europe-west3.rep.googleapis.com/v1/projects/p/locations/europe-west3/secrets/s/versions/latest:access',
    'projects/p/locations/us-east1/secrets/s/versions/3':
      'https://secretmanager.us-east1.rep.googleapis.com/v1/projects/p/locations/us-east1/secrets/s/versions/3:access',
    'projects/p/locations/evil.example/secrets/s': '',
    'locations/us-east1/secrets/s': '',
  };
  for (const [name, address] of Object.entries(cases)) assert.equal(await askedFor(name), address, name);
  const env = { CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: 'https://private.example/' };
  assert.match(await askedFor('projects/p/locations/us-east1/secrets/s', env), /^https:\/\/private\.example\/v1\/proj/);
});
