import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { GoogleGenAI } from '@google/genai';
import { OAuth2Client } from 'google-auth-library';
import { startUpstream } from '../start-upstream.ts';

/* The vendors' own SDKs talk to the Vertex AI of these tests. */

const upstream = await startUpstream();
after(() => upstream.close());
const authClient = new OAuth2Client();
authClient.setCredentials({ access_token: 'token-of-google' });
const google = new GoogleGenAI({
  vertexai: true,
  project: 'p1',
  location: 'us-east5',
  httpOptions: { baseUrl: upstream.url },
  googleAuthOptions: { authClient: authClient as never },
});
const anthropic = new AnthropicVertex({
  baseURL: `${upstream.url}/v1`,
  region: 'us-east5',
  projectId: 'p1',
  authClient: authClient as never,
  maxRetries: 0,
});
const messages = [{ role: 'user' as const, content: 'hi' }];
const model = 'claude-sonnet-4-5@20250929';
const sent = () => upstream.requests().at(-1)!;

test("Google's SDK reads answers, streams, counts, vectors and pictures", async () => {
  const whole = await google.models.generateContent({ model: 'gemini-2.5-flash', contents: 'hi' });
  assert.match(whole.text ?? '', /hi/);
  assert.match(sent().path, /\/projects\/p1\/locations\/us-east5\/publishers\/google\/models\/gemini-2.5-flash:/);
  assert.equal(sent().headers.authorization, 'Bearer token-of-google');
  let text = '';
  for await (const chunk of await google.models.generateContentStream({ model: 'gemini-2.5-flash', contents: 'hi' })) {
    text += chunk.text ?? '';
  }
  assert.equal(text, whole.text);
  const { totalTokens } = await google.models.countTokens({ model: 'gemini-2.5-flash', contents: 'hi' });
  assert.ok(totalTokens! > 0);
  const config = { outputDimensionality: 64 };
  const rows = await google.models.embedContent({ model: 'text-embedding-005', contents: ['a', 'b'], config });
  assert.deepEqual(
    rows.embeddings!.map(({ values }) => values!.length),
    [64, 64],
  );
  const one = await google.models.embedContent({ model: 'gemini-embedding-2', contents: 'a', config });
  assert.equal(one.embeddings![0]!.values!.length, 64);
  const drawn = await google.models.generateImages({ model: 'imagen-4.0-generate-001', prompt: 'a culvert' });
  assert.ok(drawn.generatedImages![0]!.image!.imageBytes);
});

test("Anthropic's SDK for Vertex reads answers, streams and counts", async () => {
  const whole = await anthropic.messages.create({ model, messages, max_tokens: 50 });
  const [block] = whole.content;
  assert.ok(block?.type === 'text');
  assert.equal(sent().path, `/v1/projects/p1/locations/us-east5/publishers/anthropic/models/${model}:rawPredict`);
  const final = await anthropic.messages.stream({ model, messages, max_tokens: 50 }).finalMessage();
  assert.deepEqual(final.content, whole.content);
  const counted = await anthropic.messages.countTokens({ model, messages });
  assert.ok(counted.input_tokens > 0);
});
