import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { betas, firstRequest } from '../clients/claude-code-body.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { applicationKey } from '../upstream-formats/entra.ts';
import { projectOfMachine, startGoogleTokens, subjectToken } from '../upstream-formats/google-tokens.ts';

/* Google Vertex AI: Gemini, Claude, Mistral and open models, each in its own format, with every kind of credentials. */

const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
const tokens = await startGoogleTokens();
const listed = ['gemini-2.5-pro', 'gemini-2.5-flash-image', 'gemini-embedding-001', 'gemini-live-2.5-flash', 'timesfm'];
const upstream = await startUpstream({ models: listed });
after(async () => {
  tokens.close();
  await upstream.close();
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

const fileOf = (name: string, content: object | string) => {
  const file = join(folder, name);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
};
const serviceAccount = {
  type: 'service_account',
  project_id: 'project-of-account',
  private_key_id: 'key-1',
  private_key: applicationKey,
  client_email: 'culvert@project-of-account.iam.gserviceaccount.com',
  client_id: '1',
};
const federation = (token: string) => ({
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/oidc',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: `${tokens.url}/v1/token`,
  credential_source: { file: fileOf(`subject-${token}`, token) },
});

const place = { base_url: upstream.url, project: 'my-project', region: 'us-east5' };
const gateway = await startGateway(
  { after: after as never },
  {
    // In this process, whose variables lead to the tokens.
    server: { processes: 1 },
    providers: {
      vertex: { type: 'vertex', ...place, google: {} },
      machine: { type: 'vertex', base_url: upstream.url, google: {} },
      account: { type: 'vertex', base_url: upstream.url, api_key: JSON.stringify(serviceAccount, null, 2) },
      federated: {
        type: 'vertex',
        ...place,
        google: { credentials_file: fileOf('federation.json', federation(subjectToken)) },
      },
      unknown: { type: 'vertex', ...place, google: { credentials_file: fileOf('bad.json', federation('another')) } },
      express: { type: 'vertex', base_url: upstream.url, api_key: 'express-key' },
      elsewhere: { type: 'vertex', ...place },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'k' },
    },
    models: {
      gemini: { targets: ['vertex/gemini-2.5-flash'] },
      chat: { targets: ['vertex/claude-opus-4-8'] },
      dated: { targets: ['vertex/claude-sonnet-4-5@20250929'] },
      'claude-haiku-*': { targets: ['claude/claude-haiku-*'] },
      'claude-sonnet-*': { targets: ['vertex/claude-sonnet-*'] },
      llama: { targets: ['vertex/meta/llama-3.3-70b-instruct-maas'] },
      mistral: { targets: ['vertex/mistral-small-2503'] },
      tuned: { targets: ['vertex/endpoints/123'] },
      machine: { targets: ['machine/gemini-2.5-flash'] },
      account: { targets: ['account/gemini-2.5-flash'] },
      federated: { targets: ['federated/gemini-2.5-flash'] },
      unknown: { targets: ['unknown/gemini-2.5-flash'] },
      express: { targets: ['express/gemini-2.5-flash'] },
      elsewhere: { targets: ['elsewhere/gemini-2.5-flash'] },
      embed: { targets: ['vertex/text-embedding-005'] },
      'embed-one': { targets: ['vertex/gemini-embedding-001'] },
      'embed-content': { targets: ['vertex/gemini-embedding-2'] },
      picture: { targets: ['vertex/imagen-4.0-generate-001'] },
    },
  },
);
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });
const hi = [{ role: 'user' as const, content: 'hi' }];
const ask = (model: string) => openai.chat.completions.create({ model, messages: hi });
const sent = () => upstream.requests().at(-1)!;
const parent = '/v1/projects/my-project/locations/us-east5';

test("Claude Code's request reaches a Claude of Vertex as it was, but for what Vertex refuses", async () => {
  const first = firstRequest('hi');
  const response = await gateway.fetch('/v1/messages?beta=true', { json: first, headers: { 'anthropic-beta': betas } });
  assert.equal(response.status, 200);
  assert.match(await response.text(), /event: message_stop/);
  const { path, headers, body } = sent();
  assert.equal(path, `${parent}/publishers/anthropic/models/claude-opus-4-8:streamRawPredict`);
  assert.ok(betas.includes('advanced-tool-use-2025-11-20'));
  const passed =
    'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,per-turn-control-2026-07-01';
  assert.equal(headers['anthropic-beta'], `${passed},tool-search-tool-2025-10-19`);
  assert.equal(headers['anthropic-version'], undefined);
  const { model: _, ...rest } = first;
  assert.ok(rest.context_management !== undefined);
  assert.deepEqual(body, { ...rest, anthropic_version: 'vertex-2023-10-16' });
  assert.equal(response.headers.get('x-culvert-dropped'), null);
});

test('a pattern names a dated Claude as its provider does, whichever name its caller has', async () => {
  const bodyOf = () => sent().body as { model?: string };
  const create = (model: string) => anthropic.messages.create({ model, max_tokens: 9, messages: hi });
  for (const name of ['claude-haiku-4-5@20251001', 'claude-haiku-4-5-20251001']) {
    await create(name);
    assert.deepEqual([sent().path, bodyOf().model], ['/v1/messages', 'claude-haiku-4-5-20251001']);
  }
  await create('claude-haiku-4-6@default');
  assert.equal(bodyOf().model, 'claude-haiku-4-6');
  for (const name of ['claude-sonnet-4-5@20250929', 'claude-sonnet-4-5-20250929']) {
    await create(name);
    assert.equal(sent().path, `${parent}/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict`);
  }
});

test('without its beta, which the header must have, context_management stays away from Vertex', async () => {
  const first = firstRequest('hi');
  await (await gateway.fetch('/v1/messages?beta=true', { json: first })).text();
  const { model: _, context_management: managed, ...rest } = first;
  assert.ok(managed !== undefined);
  assert.deepEqual(sent().body, { ...rest, anthropic_version: 'vertex-2023-10-16' });
});

test("members that Anthropic alone takes stay away from Vertex, and the whole body's cache mark is its last block's", async () => {
  const mark = { type: 'ephemeral' };
  const tool = { name: 'edit', input_schema: { type: 'object' } };
  const json = {
    model: 'chat',
    max_tokens: 100,
    speed: 'fast',
    cache_control: mark,
    tools: [{ ...tool, eager_input_streaming: true }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { ...mark, scope: 'global' } }] }],
  };
  const response = await gateway.fetch('/v1/messages', { json });
  assert.equal(response.status, 200, await response.text());
  const lost = 'speed, cache_control.scope, tools.eager_input_streaming';
  assert.equal(response.headers.get('x-culvert-dropped'), lost);
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: mark }] }];
  assert.deepEqual(sent().body, {
    ...{ anthropic_version: 'vertex-2023-10-16', max_tokens: 100 },
    ...{ tools: [tool], messages },
  });
});

test('a tool that Vertex refuses for two reasons is mended for both', async () => {
  const anyOf = [{ properties: { path: { type: 'string' } } }, { properties: { url: { type: 'string' } } }];
  const tool = { name: 'edit', eager_input_streaming: true, input_schema: { type: 'object', anyOf } };
  const json = { model: 'chat', max_tokens: 100, tools: [tool], messages: hi };
  const response = await gateway.fetch('/v1/messages', { json });
  assert.equal(response.status, 200, await response.text());
  const [sentTool] = (sent().body as { tools: Record<string, object>[] }).tools;
  assert.deepEqual(Object.keys(sentTool!), ['name', 'input_schema']);
  assert.deepEqual(Object.keys(sentTool!.input_schema!), ['type', 'properties', 'description']);
});

test('callers of every format reach Claude, whole and streamed', async () => {
  const whole = await ask('dated');
  assert.match(whole.choices[0]!.message.content ?? '', /Mock answer/);
  // A converted answer is requested as a stream.
  assert.match(sent().path, /\/publishers\/anthropic\/models\/claude-sonnet-4-5@20250929:(stream)?[rR]awPredict$/);
  const message = await anthropic.messages.create({ model: 'dated', messages: hi, max_tokens: 50 });
  assert.equal(message.type, 'message');
  assert.equal(sent().path, `${parent}/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict`);
  const answer = await google.models.generateContent({ model: 'dated', contents: 'hi' });
  assert.match(answer.text ?? '', /Mock answer/);
});

test('tokens are counted by Vertex, for Claude and for Gemini', async () => {
  const counted = await anthropic.messages.countTokens({ model: 'dated', messages: hi });
  assert.ok(counted.input_tokens > 0);
  assert.equal(sent().path, `${parent}/publishers/anthropic/models/count-tokens:rawPredict`);
  assert.deepEqual(sent().body, { model: 'claude-sonnet-4-5@20250929', messages: hi });
  const { totalTokens } = await google.models.countTokens({ model: 'gemini', contents: 'hi' });
  assert.ok(totalTokens! > 0);
  assert.equal(sent().path, `${parent}/publishers/google/models/gemini-2.5-flash:countTokens`);
  assert.ok('contents' in (sent().body as object));
});

test('Gemini is asked in its own format, open models and Mistral in that of chat completions', async () => {
  const streamOf = async (model: string) => {
    for await (const _ of await openai.chat.completions.create({ model, messages: hi, stream: true }));
    return sent();
  };
  assert.equal(
    (await streamOf('gemini')).path,
    `${parent}/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse`,
  );
  const llama = await streamOf('llama');
  assert.equal(llama.path, `${parent}/endpoints/openapi/chat/completions`);
  assert.equal((llama.body as { model: string }).model, 'meta/llama-3.3-70b-instruct-maas');
  assert.equal(
    (await streamOf('mistral')).path,
    `${parent}/publishers/mistralai/models/mistral-small-2503:streamRawPredict`,
  );
  await ask('mistral');
  assert.equal(sent().path, `${parent}/publishers/mistralai/models/mistral-small-2503:rawPredict`);
  await google.models.generateContent({ model: 'gemini', contents: 'hi' });
  assert.equal(sent().path, `${parent}/publishers/google/models/gemini-2.5-flash:generateContent`);
  await gateway.fetch('/v1beta/models/tuned:generateContent', {
    json: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  });
  assert.equal(sent().path, `${parent}/endpoints/123:generateContent`);
});

test('texts are embedded by predict, one a call where the model takes no more, or by embedContent', async () => {
  const pathsOf = async (model: string, dimensions?: number) => {
    const before = upstream.requests().length;
    const input = ['one text', 'another', 'a third'];
    const { data, usage } = await openai.embeddings.create({ model, input, ...(dimensions && { dimensions }) });
    assert.equal(data.length, 3);
    assert.ok(usage.prompt_tokens > 0);
    if (dimensions) assert.equal(data[0]!.embedding.length, dimensions);
    return upstream
      .requests()
      .slice(before)
      .map(({ path }) => path.slice(parent.length));
  };
  assert.deepEqual(await pathsOf('embed', 256), ['/publishers/google/models/text-embedding-005:predict']);
  assert.deepEqual((sent().body as { parameters: object }).parameters, { outputDimensionality: 256 });
  const singly = await pathsOf('embed-one', 128);
  assert.deepEqual(singly, Array(3).fill('/publishers/google/models/gemini-embedding-001:predict'));
  const byContent = await pathsOf('embed-content', 128);
  assert.deepEqual(byContent, Array(3).fill('/publishers/google/models/gemini-embedding-2:embedContent'));
});

test('Imagen draws by predict', async () => {
  const { data } = await openai.images.generate({ model: 'picture', prompt: 'a culvert', response_format: 'b64_json' });
  assert.ok(data![0]!.b64_json);
  assert.equal(sent().path, `${parent}/publishers/google/models/imagen-4.0-generate-001:predict`);
});

test('a machine of Google has its token and its project from the metadata server, one token for all', async () => {
  await ask('machine');
  const { path, headers } = sent();
  assert.match(path, new RegExp(`^/v1/projects/${projectOfMachine}/locations/global/publishers/google/`));
  assert.match(headers.authorization ?? '', /^Bearer token-\d+$/);
  const count = tokens.given().length;
  await Promise.all([ask('machine'), ask('gemini')]);
  assert.equal(sent().headers.authorization, headers.authorization);
  assert.equal(tokens.given().length, count);
});

test('a service account signs its tokens, and its project is the default', async () => {
  await ask('account');
  const { path, headers } = sent();
  assert.match(path, /^\/v1\/projects\/project-of-account\/locations\/global\//);
  assert.equal(headers['x-goog-api-key'], undefined);
  const [head, claims, signature] = headers.authorization!.replace('Bearer ', '').split('.');
  const { iss, scope } = JSON.parse(Buffer.from(claims!, 'base64url').toString());
  assert.equal(iss, serviceAccount.client_email);
  assert.equal(scope, 'https://www.googleapis.com/auth/cloud-platform');
  const key = createPublicKey(applicationKey);
  assert.ok(verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature!, 'base64url')));
});

test('a workload of another cloud exchanges its own token', async () => {
  await ask('federated');
  assert.match(sent().headers.authorization ?? '', /^Bearer token-\d+$/);
  assert.ok(tokens.given().includes('federated'));
});

test('credentials that fail are a bad credential, and the reason says which were tried', async () => {
  const count = upstream.requests().length;
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'unknown', messages: hi } });
  assert.equal(response.status, 502);
  const text = await response.text();
  assert.match(text, /Google gave no token for google\.credentials_file: /);
  assert.ok(!text.includes('another'));
  assert.equal(upstream.requests().length, count);
});

test("Google's own models are discovered, each for what it does", async () => {
  await gateway.modelsKnown;
  const response = await gateway.fetch('/admin/v1/providers/test', {
    json: { type: 'vertex', base_url: upstream.url, api_key: 'express-key' },
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const { models } = (await response.json()) as { models: { id: string; type: string }[] };
  assert.deepEqual(models, [
    { id: 'gemini-2.5-pro', type: 'chat' },
    { id: 'gemini-2.5-flash-image', type: 'image' },
    { id: 'gemini-embedding-001', type: 'embedding' },
  ]);
});

test('a key of express mode stands for credentials and project', async () => {
  await ask('express');
  const { path, headers } = sent();
  assert.match(path, /^\/v1\/publishers\/google\/models\/gemini-2\.5-flash:/);
  assert.equal(headers['x-goog-api-key'], 'express-key');
  assert.equal(headers.authorization, undefined);
});

test("a token of this machine goes to Google's own addresses alone, unless the file says another", async () => {
  await ask('elsewhere');
  assert.equal(sent().headers.authorization, undefined);
  const made = await gateway.fetch('/admin/v1/providers', {
    json: { name: 'mine', type: 'vertex', ...place, google: {} },
    headers: { authorization: `Bearer ${adminKey}` },
  });
  assert.equal(made.status, 400);
  assert.match(await made.text(), /google: write it in culvert.yaml/);
});

test("Vertex' errors are those of its format, whichever a model has", async () => {
  for (const [model, path] of [
    ['gemini', `${parent}/publishers/google/models/gemini-2.5-flash:streamGenerateContent`],
    ['chat', `${parent}/publishers/anthropic/models/claude-opus-4-8:streamRawPredict`],
  ] as const) {
    upstream.script(path, ['status=429;retry-after=7']);
    const response = await gateway.fetch('/v1/chat/completions', { json: { model, messages: hi } });
    assert.equal(response.status, 429, model);
    assert.equal(response.headers.get('retry-after'), '7', model);
  }
});
