import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { GoogleGenAI, Modality } from '@google/genai';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { projectOfMachine, startGoogleTokens } from '../upstream-formats/google-tokens.ts';
import { startGeminiLive } from '../upstream-formats/start-gemini-live.ts';

/* `/v1/realtime` over Gemini's Live API on Vertex AI. */

const tokens = await startGoogleTokens();
const upstream = await startGeminiLive({ after });
const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
after(() => {
  tokens.close();
  rmSync(folder, { recursive: true });
});
// Nothing of the machine that the tests run on.
delete process.env.GOOGLE_APPLICATION_CREDENTIALS;
delete process.env.GOOGLE_CLOUD_PROJECT;
Object.assign(process.env, {
  HOME: folder,
  CLOUDSDK_CONFIG: folder,
  GCE_METADATA_HOST: tokens.host,
  METADATA_SERVER_DETECTION: 'assume-present',
});

const id = 'gemini-live-2.5-flash-native-audio';
const price = { input: 1, output: 2 };
const gateway = await startGateway(
  { after: after as never },
  {
    // In this process, whose variables lead to the tokens.
    server: { processes: 1 },
    providers: {
      vertex: { type: 'vertex', base_url: upstream.url, project: 'my-project', region: 'us-central1', google: {} },
      machine: { type: 'vertex', base_url: upstream.url, region: 'us-central1', google: {} },
      express: { type: 'vertex', base_url: upstream.url, api_key: 'express-key' },
    },
    models: {
      live: { targets: [{ provider: 'vertex', model: id, price }] },
      open: { targets: [`machine/${id}`] },
      express: { targets: [`express/${id}`] },
    },
  },
);

/** What the upstream is asked by, when a caller has an answer. */
async function talk(model: string) {
  const opening = upstream.next();
  const { hostname, port } = new URL(gateway.url);
  const createConnection = () => connect(Number(port), hostname);
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey });
  const realtime = new OpenAIRealtimeWS({ model, options: { createConnection } as never }, client);
  const done = new Promise<{ response: { usage?: object } }>((resolve, reject) => {
    realtime.on('response.done', resolve as never);
    realtime.on('error', reject);
  });
  realtime.on('session.created', () => realtime.send({ type: 'response.create' }));
  const { response } = await done;
  realtime.close();
  const { path, headers, messages } = await opening;
  return { path, headers, setup: messages[0]!.setup as { model: string }, usage: response.usage };
}

const address = '/ws/google.cloud.aiplatform.v1.LlmBidiService/BidiGenerateContent';

test('Google’s own SDK talks to the upstream of these tests, as Vertex', async () => {
  const google = new GoogleGenAI({
    enterprise: true,
    project: 'my-project',
    location: 'us-central1',
    httpOptions: { baseUrl: upstream.url, apiVersion: 'v1' },
  } as never);
  const opening = upstream.next();
  let over: (count: number | undefined) => void;
  const done = new Promise<number | undefined>((resolve) => {
    over = resolve;
  });
  const session = await google.live.connect({
    model: id,
    config: { responseModalities: [Modality.AUDIO] },
    callbacks: {
      onmessage({ serverContent, usageMetadata }) {
        if (serverContent?.turnComplete) over(usageMetadata?.responseTokenCount);
      },
    },
  });
  session.sendClientContent({ turns: 'Hello', turnComplete: true });
  assert.equal(await done, 40);
  session.close();
  const { path, messages } = await opening;
  assert.equal(path.replace('//', '/'), address);
  const { model } = messages[0]!.setup as { model: string };
  assert.equal(model, `projects/my-project/locations/us-central1/publishers/google/models/${id}`);
});

test('a session by a token of Google Cloud, the whole model in its setup, and what it used in the ledger', async () => {
  const { path, headers, setup, usage } = await talk('live');
  assert.equal(path, address);
  assert.match(headers.authorization ?? '', /^Bearer token-\d+$/);
  assert.equal(setup.model, `projects/my-project/locations/us-central1/publishers/google/models/${id}`);
  assert.deepEqual((usage as { output_token_details: object }).output_token_details, {
    ...{ text_tokens: 5, audio_tokens: 35, reasoning_tokens: 5 },
  });
  for (;;) {
    const answer = await fetch(`${gateway.url}/admin/v1/requests`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    const [row] = ((await answer.json()) as { data: { cost_usd: number; target: string }[] }).data;
    if (row === undefined) continue;
    assert.deepEqual([row.cost_usd, row.target], [(50 + 45 * 2) / 1e6, `vertex/${id}`]);
    break;
  }
});

test('a project that nobody has named is that of the credentials', async () => {
  const { setup } = await talk('open');
  assert.equal(setup.model, `projects/${projectOfMachine}/locations/us-central1/publishers/google/models/${id}`);
});

test('a key of express mode opens sessions too, whose project it says', async () => {
  const { headers, setup } = await talk('express');
  assert.equal(headers['x-goog-api-key'], 'express-key');
  assert.equal(headers.authorization, undefined);
  assert.equal(setup.model, `publishers/google/models/${id}`);
});
