import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { listening } from '../../../../test/listening.ts';
import { one } from '../../../../test/saml-certificates.ts';
import { createIdentityProvider } from './identity-provider.ts';

const metadata = `<EntityDescriptor entityID="urn:idp">
  <IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    <KeyDescriptor><X509Certificate>${one.cert.replace(/-----[^-]+-----/g, '')}</X509Certificate></KeyDescriptor>
    <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://id.example/"/>
  </IDPSSODescriptor></EntityDescriptor>`;

const hourMs = 60 * 60_000;

async function world(t: TestContext) {
  const state = { asked: 0, status: 200, body: metadata };
  const server = createServer((_request, response) => {
    state.asked += 1;
    response.writeHead(state.status).end(state.body);
  });
  const url = await listening(t, server);
  const clock = fakeClock();
  const troubles: string[] = [];
  const provider = createIdentityProvider({ metadata_url: url }, clock, (message) => troubles.push(message));
  return { state, clock, troubles, provider };
}

test('logins that come at once ask for the metadata once, and later ones again after an hour', async (t) => {
  const { state, clock, provider } = await world(t);
  assert.equal(state.asked, 0, 'nobody has logged in yet');
  const read = await Promise.all([provider(), provider(), provider()]);
  assert.deepEqual([state.asked, read[2]?.entityId], [1, 'urn:idp']);
  clock.advance(hourMs - 1);
  await provider();
  assert.equal(state.asked, 1);
  clock.advance(1);
  state.body = metadata.replace('urn:idp', 'urn:new');
  assert.equal((await provider()).entityId, 'urn:new');
});

test('while its address does not answer, metadata is good for a day, and one login a minute waits for it', async (t) => {
  const { state, clock, troubles, provider } = await world(t);
  await provider();
  state.status = 503;
  clock.advance(hourMs);
  assert.equal((await provider()).entityId, 'urn:idp');
  await provider();
  assert.equal(state.asked, 2);
  assert.match(troubles.join(), /could not be read again: .*status 503/);
  clock.advance(60_000);
  await provider();
  assert.equal(state.asked, 3);
  clock.advance(23 * hourMs);
  await assert.rejects(provider(), /status 503/);
  state.status = 200;
  assert.equal((await provider()).entityId, 'urn:idp');
});

test('metadata that does not end is not read to its end', async (t) => {
  const { state, provider } = await world(t);
  state.body = metadata + ' '.repeat(3 * 1024 * 1024);
  await assert.rejects(provider(), /more than 2097152 bytes/);
});
