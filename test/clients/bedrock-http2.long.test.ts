import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BedrockRuntimeClient, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime';
import { headersTimeoutMs } from '../../src/kernel/limits.ts';
import { openThreeProviders } from './three-providers.ts';

const { gateway } = await openThreeProviders();

test('a connection of HTTP/2 outlasts the time that headers may take, with streams before and after', async () => {
  const client = new BedrockRuntimeClient({
    endpoint: gateway.url,
    region: 'us-east-1',
    token: { token: gateway.key },
    authSchemePreference: ['httpBearerAuth'],
    maxAttempts: 1,
  });
  const textOf = async (modelId: string) => {
    const messages = [{ role: 'user' as const, content: [{ text: 'hello there' }] }];
    const { stream } = await client.send(new ConverseStreamCommand({ modelId, messages }));
    let text = '';
    for await (const { contentBlockDelta } of stream!) text += contentBlockDelta?.delta?.text ?? '';
    return text;
  };
  for (const modelId of [`mock/delay=${headersTimeoutMs + 2_500}ms`, 'chat']) {
    assert.match(await textOf(modelId), /hello there/, modelId);
  }
  client.destroy();
});
