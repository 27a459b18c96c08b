import assert from 'node:assert/strict';
import { test } from 'node:test';
import { azureOpenAi } from '../../formats/providers/services/azure-openai.ts';
import type { Transport, UpstreamRequest } from '../../upstream/transport/upstream-call.ts';
import { authorizerFor } from './authorizer-for.ts';

/** Where a token for Azure at this address is asked for, and its scope. */
async function askedFor(baseUrl: string, scope?: string): Promise<string[]> {
  const asked: string[] = [];
  const transport = {
    send({ origin, body }, observer) {
      asked.push(origin, `${new URLSearchParams(String(body)).get('scope')}`);
      setImmediate(() => observer.failed({ kind: 'connect', message: 'not here' }));
      return { abort: () => undefined, pause: () => undefined, resume: () => undefined };
    },
  } as Pick<Transport, 'send'> as Transport;
  const entra = { tenant_id: 'tenant', client_id: 'client', client_secret: 'secret', scope };
  const authorize = authorizerFor(azureOpenAi, { type: 'azure-openai', base_url: baseUrl, entra } as never, null)!;
  await assert.rejects(async () => authorize({} as UpstreamRequest, transport), /Entra ID gave no token/);
  return asked;
}

test("the token for an address of Azure's is that of its cloud, unless the configuration says otherwise", async () => {
  const clouds = [
    ['https://x.openai.azure.com', 'login.microsoftonline.com', 'com'],
    ['https://x.openai.azure.us/openai/v1', 'login.microsoftonline.us', 'us'],
    ['https://X.Cognitiveservices.Azure.CN', 'login.chinacloudapi.cn', 'cn'],
    ['https://gateway.example/x.azure.us', 'login.microsoftonline.com', 'com'],
  ] as const;
  for (const [baseUrl, authority, cloud] of clouds) {
    const scope = `https://cognitiveservices.azure.${cloud}/.default`;
    assert.deepEqual(await askedFor(baseUrl), [`https://${authority}`, scope], baseUrl);
  }
  const [, scope] = await askedFor('https://x.openai.azure.us', 'https://ai.azure.us/.default');
  assert.equal(scope, 'https://ai.azure.us/.default');
});
