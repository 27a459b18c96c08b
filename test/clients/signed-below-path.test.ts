import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SignatureV4 } from '@smithy/signature-v4';
import { startGateway } from '../start-gateway.ts';
import { Sha256 } from './sha256.ts';

/** Status of a request that was signed for `/culvert/foundation-models`, of which a proxy took the path away. */
async function signedStatus(t: TestContext, server: object, headers: Record<string, string>): Promise<number> {
  const gateway = await startGateway(t, { server });
  const issued = await gateway.fetch('/v1/aws-credentials');
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey } = (await issued.json()) as Record<
    string,
    string
  >;
  const credentials = { accessKeyId: accessKeyId ?? '', secretAccessKey: secretAccessKey ?? '' };
  const signer = new SignatureV4({ credentials, region: 'us-east-1', service: 'bedrock', sha256: Sha256 });
  const { host } = new URL(gateway.url);
  const place = { protocol: 'http:', hostname: '127.0.0.1', path: '/culvert/foundation-models', query: {} };
  const signed = await signer.sign({ method: 'GET', ...place, headers: { host } });
  const { host: _, ...sent } = signed.headers;
  return (await fetch(`${gateway.url}/foundation-models`, { headers: { ...sent, ...headers } })).status;
}

test('a signature covers the path that a proxy took away', async (t) => {
  const named = { 'x-forwarded-prefix': '/culvert' };
  const trusted = { trusted_proxies: ['127.0.0.1'] };
  assert.equal(await signedStatus(t, { public_url: 'https://box/culvert' }, {}), 200);
  assert.equal(await signedStatus(t, trusted, named), 200, 'as the proxy says');
  assert.equal(await signedStatus(t, {}, named), 401, 'a proxy that nobody trusts');
  assert.equal(await signedStatus(t, trusted, {}), 401);
});
