import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { listening } from '../../../test/listening.ts';
import { applicationCertificate, entraFacts, startEntra } from '../../../test/upstream-formats/entra.ts';
import { createTransport } from '../transport/send.ts';
import { NotAuthorized, type UpstreamRequest } from '../transport/upstream-call.ts';
import { type EntraFacts, type Env, entraAuthorizer } from './entra.ts';

const transport = createTransport();
const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
after(() => {
  transport.destroy();
  rmSync(folder, { recursive: true });
});
const fileOf = (name: string, text: string) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

const aiServices = 'https://cognitiveservices.azure.com/.default';
const request = {} as UpstreamRequest;

/** Token that an authorizer gives one request. */
async function tokenOf(facts: EntraFacts, env: Env, clock = fakeClock(Date.now())) {
  const authorize = entraAuthorizer(facts, env, clock);
  return { authorize: () => authorize(request, transport), first: await authorize(request, transport), clock };
}

async function scripted(t: { after(end: () => void): void }) {
  const entra = await startEntra();
  t.after(() => entra.close());
  const application = {
    AZURE_TENANT_ID: entraFacts.tenant,
    AZURE_CLIENT_ID: entraFacts.client,
    AZURE_AUTHORITY_HOST: `${entra.url}/`,
    AZURE_POD_IDENTITY_AUTHORITY_HOST: entra.url,
  };
  return { entra, application };
}

test('an application proves itself by its secret, and its token serves until shortly before it expires', async (t) => {
  const { entra, application } = await scripted(t);
  const { authorize, first, clock } = await tokenOf({}, { ...application, AZURE_CLIENT_SECRET: entraFacts.secret });
  assert.deepEqual(first, ['authorization', 'Bearer token-1']);
  assert.deepEqual(authorize(), first, 'without a wait');
  assert.deepEqual(entra.asked(), [`secret ${aiServices}`]);
  clock.advance(3_600_000);
  assert.deepEqual(await authorize(), ['authorization', 'Bearer token-2']);
});

test("the configuration's word goes before the environment's", async (t) => {
  const { entra, application } = await scripted(t);
  const env = { ...application, AZURE_TENANT_ID: 'another', AZURE_CLIENT_SECRET: 'another', AZURE_AUTHORITY_HOST: 'x' };
  const facts = { tenantId: entraFacts.tenant, clientSecret: entraFacts.secret, authority: entra.url, scope: 'mine' };
  await tokenOf(facts, env);
  assert.deepEqual(entra.asked(), ['secret mine']);
});

test('an application proves itself by its certificate', async (t) => {
  const { entra, application } = await scripted(t);
  const file = fileOf('application.pem', applicationCertificate);
  await tokenOf({}, { ...application, AZURE_CLIENT_CERTIFICATE_PATH: file });
  assert.deepEqual(entra.asked(), [`certificate ${aiServices}`]);
});

test('a workload proves itself by its federated token, read anew each time', async (t) => {
  const { entra, application } = await scripted(t);
  const file = fileOf('federated', 'an old one');
  const env = { ...application, AZURE_FEDERATED_TOKEN_FILE: file };
  await assert.rejects(tokenOf({}, env), /workload identity: it answered 401: AADSTS7000215/);
  fileOf('federated', `${entraFacts.federated}\n`);
  await tokenOf({}, env);
  assert.deepEqual(entra.asked(), [`federated ${aiServices}`]);
});

test('a machine and an app ask the metadata service beside them', async (t) => {
  const { entra, application } = await scripted(t);
  const { AZURE_POD_IDENTITY_AUTHORITY_HOST } = application;
  await tokenOf({}, { AZURE_POD_IDENTITY_AUTHORITY_HOST });
  await tokenOf({}, { IDENTITY_ENDPOINT: `${entra.url}/msi/token`, IDENTITY_HEADER: entraFacts.header });
  const resource = 'https://cognitiveservices.azure.com';
  assert.deepEqual(entra.asked(), [`machine ${resource}`, `app ${resource}`]);
});

test('the Azure CLI is asked last', async (t) => {
  const { entra } = await scripted(t);
  entra.loseIdentity();
  const token = { accessToken: 'of-az', expires_on: Math.floor(Date.now() / 1_000) + 3_600 };
  const az = fileOf('az', `#!/bin/sh\necho '${JSON.stringify(token)}'\n`);
  chmodSync(az, 0o755);
  const env = { AZURE_POD_IDENTITY_AUTHORITY_HOST: entra.url, PATH: `${folder}:${process.env.PATH}` };
  const { first } = await tokenOf({}, env);
  assert.deepEqual(first, ['authorization', 'Bearer of-az']);
});

test('without any of them the failure says what each step lacked', async (t) => {
  const { entra } = await scripted(t);
  entra.loseIdentity();
  const env = { AZURE_POD_IDENTITY_AUTHORITY_HOST: entra.url, PATH: join(folder, 'nothing') };
  await assert.rejects(tokenOf({}, env), (error) => {
    assert.ok(error instanceof NotAuthorized);
    assert.equal(
      error.message,
      'no credential for Entra ID was found (application: neither a client secret nor a certificate is set; ' +
        'workload identity: AZURE_FEDERATED_TOKEN_FILE is not set; ' +
        'managed identity: it answered 400: Identity not found; Azure CLI: az is not installed)',
    );
    return true;
  });
});

test('a secret that is refused ends the search, and no message repeats it', async (t) => {
  const { application } = await scripted(t);
  const wrong = tokenOf({}, { ...application, AZURE_CLIENT_SECRET: 'wrong-secret' });
  await assert.rejects(wrong, {
    message:
      'Entra ID gave no token to the application: it answered 401: AADSTS7000215: Invalid client secret provided.',
  });
  const file = fileOf('empty.pem', 'nothing');
  const unreadable = tokenOf({}, { ...application, AZURE_CLIENT_CERTIFICATE_PATH: file });
  await assert.rejects(unreadable, /the certificate is no PEM file with a certificate and its private key/);
});

test('an answer without a token, or with one beside a failure, logs nobody in', async (t) => {
  const given = { access_token: 'token', expires_in: 3_600, token_type: 'Bearer' };
  const { application } = await scripted(t);
  for (const [status, body] of [
    [200, {}],
    [200, { ...given, access_token: 7 }],
    [200, [given]],
    [203, given],
  ] as const) {
    const server = createServer((_, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    const url = await listening(t, server);
    const env = { ...application, AZURE_AUTHORITY_HOST: `${url}/`, AZURE_CLIENT_SECRET: entraFacts.secret };
    await assert.rejects(tokenOf({}, env), NotAuthorized, JSON.stringify([status, body]));
  }
});
