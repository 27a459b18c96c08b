import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { listening } from '../../../test/listening.ts';
import { temporaryFolder } from '../../../test/start-process.ts';
import { googleAuthorizer } from './google.ts';

const given = {
  access_token: 'token',
  token_type: 'Bearer',
  issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  expires_in: 3_599,
};

test("a token request that Google's library lets hang for good holds up no later one", async (t) => {
  const folder = temporaryFolder(t);
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume();
    requests += 1;
    if (requests > 1) response.setHeader('content-type', 'application/json').end(JSON.stringify(given));
  });
  const url = await listening(t, server);
  const subject = join(folder, 'subject');
  writeFileSync(subject, 'subject-token');
  const credentialsFile = join(folder, 'credentials.json');
  const facts = {
    type: 'external_account',
    audience: '//iam.googleapis.com/pool',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${url}/v1/token`,
    credential_source: { file: subject },
  };
  writeFileSync(credentialsFile, JSON.stringify(facts));
  const authorize = googleAuthorizer({ credentialsFile });
  const headers = async () => authorize({ path: '/' } as never, undefined as never);

  t.mock.timers.enable({ apis: ['setTimeout'] });
  const refused = assert.rejects(headers(), /Google gave no token .*: no answer came within 20 s/);
  await once(server, 'request');
  t.mock.timers.tick(20_000);
  await refused;
  assert.deepEqual(await headers(), ['authorization', 'Bearer token']);
});
