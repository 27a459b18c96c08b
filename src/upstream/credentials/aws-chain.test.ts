import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { temporaryFolder } from '../../../test/start-process.ts';
import { findAwsKeys } from './aws-chain.ts';
import { awsAuthorizer } from './aws-signature.ts';

/** A credentials file of AWS; `profile` signs with its profile `work`, and gives the access key it signed with. */
function withFile(t: TestContext) {
  const file = join(temporaryFolder(t), 'credentials');
  Object.assign(process.env, { AWS_SHARED_CREDENTIALS_FILE: file, AWS_CONFIG_FILE: `${file}.config` });
  const clock = fakeClock();
  const authorize = awsAuthorizer({ profile: 'work', region: 'us-east-1' }, 'bedrock', clock);
  const request = { origin: 'https://bedrock.test', path: '/', method: 'GET', headers: [], body: null } as const;
  const timeouts = { connectTimeoutMs: 1, headersTimeoutMs: 1, bodyTimeoutMs: 1 };
  return {
    clock,
    write: (id: string) => writeFileSync(file, `[work]\naws_access_key_id = ${id}\naws_secret_access_key = secret\n`),
    async signedWith(): Promise<string | undefined> {
      const transport = undefined as never;
      const [, header = ''] = await authorize({ ...request, ...timeouts }, transport);
      return /Credential=(\w+)/.exec(header)?.[1];
    },
  };
}

test('keys of a profile that are written anew sign within five seconds, without a restart', async (t) => {
  const { clock, write, signedWith } = withFile(t);
  write('AKIAFIRST');
  assert.equal(await signedWith(), 'AKIAFIRST');
  write('AKIASECOND');
  clock.advance(4_999);
  assert.equal(await signedWith(), 'AKIAFIRST');
  clock.advance(1);
  assert.equal(await signedWith(), 'AKIASECOND');
});

test('a profile that is written after the first request is found', async (t) => {
  const { write, signedWith } = withFile(t);
  await assert.rejects(signedWith(), /profile work/);
  write('AKIALATER');
  assert.equal(await signedWith(), 'AKIALATER');
});

test('an empty AWS_PROFILE, as container files leave it, names no profile: keys of the environment sign', async (t) => {
  const given = { AWS_PROFILE: '', AWS_ACCESS_KEY_ID: 'AKIAENV', AWS_SECRET_ACCESS_KEY: 'secret' };
  const before = { ...process.env };
  t.after(() => {
    for (const name of Object.keys(given)) if (before[name] === undefined) delete process.env[name];
    Object.assign(process.env, before);
  });
  Object.assign(process.env, given);
  assert.equal((await findAwsKeys({ region: 'us-east-1' }, 0)).value.accessKeyId, 'AKIAENV');
});
