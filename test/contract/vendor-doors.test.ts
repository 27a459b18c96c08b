import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

/* Paths that SDKs of vendors send with a base URL of this server, and that it lacks. */

const gateway = await startGateway({ after } as TestContext, {});

for (const [path, door] of Object.entries({
  '/v1/listen?model=nova-3': '/v1/audio/transcriptions',
  '/v1/speech-to-text': '/v1/audio/transcriptions',
  '/v1/speak?model=aura-2': '/v1/audio/speech',
  '/v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb': '/v1/audio/speech',
  '/v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb/stream': '/v1/audio/speech',
  '/v1/openai/deployments/smart/chat/completions?api-version=2024-10-21': 'give them this one without /v1',
})) {
  test(`${path} returns 404 with the way to take`, async () => {
    const response = await gateway.fetch(path, { json: {} });
    const text = await response.text();
    assert.equal(response.status, 404, text);
    assert.ok(text.includes(door), text);
  });
}
