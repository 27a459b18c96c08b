import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { redact } from '../../src/config/redact.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startGoogleTokens, subjectToken } from '../upstream-formats/google-tokens.ts';
import { type Play, type ServiceCall, startService } from './start-service.ts';

/* Services are simulated from their published references. */

const service = await startService(after);
const upstream = await startUpstream();
after(() => upstream.close());
const google = await startGoogleTokens();
after(google.close);
const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
after(() => rmSync(folder, { recursive: true }));
const credentialsFile = join(folder, 'federation.json');
const subjectFile = join(folder, 'subject');
writeFileSync(subjectFile, subjectToken);
const federation = {
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/oidc',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: `${google.url}/v1/token`,
  credential_source: { file: subjectFile },
};
writeFileSync(credentialsFile, JSON.stringify(federation));

const prompt = '🙂 I am Jo Doe, a bad one';
const { url } = service;
/** What each service is sent, and says of the prompt. `masked`: what the upstream gets from a guard that masks. */
const vendors: Record<
  string,
  {
    guard: object;
    path: string;
    auth(call: ServiceCall): void;
    body: object;
    hit: object | readonly object[];
    miss: object | readonly object[];
    masked?: string;
  }
> = {
  'openai-moderation': {
    guard: { url, api_key: 'sk-guard' },
    path: '/moderations',
    auth: ({ headers }) => assert.equal(headers.authorization, 'Bearer sk-guard'),
    body: { model: 'omni-moderation-latest', input: [prompt] },
    hit: {
      results: [{ flagged: true, categories: { violence: true, hate: false }, category_scores: { violence: 0.9 } }],
    },
    miss: { results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: 0.1 } }] },
  },
  'azure-content-safety': {
    guard: { url: `${url}/`, api_key: 'azure-guard-key', categories: ['Violence', 'Hate'], threshold: 4 },
    path: '/contentsafety/text:analyze?api-version=2024-09-01',
    auth: ({ headers }) => assert.equal(headers['ocp-apim-subscription-key'], 'azure-guard-key'),
    body: { text: prompt, outputType: 'EightSeverityLevels', categories: ['Violence', 'Hate'] },
    hit: { blocklistsMatch: [], categoriesAnalysis: [{ category: 'Violence', severity: 4 }] },
    miss: { blocklistsMatch: [], categoriesAnalysis: [{ category: 'Violence', severity: 3 }] },
  },
  'bedrock-guardrails': {
    guard: {
      url,
      region: 'eu-central-1',
      guardrail: { id: 'abc123', version: '2' },
      aws: { access_key_id: 'AKIAGUARD', secret_access_key: 'aws-guard-secret' },
    },
    path: '/guardrail/abc123/version/2/apply',
    auth({ headers }) {
      const form =
        /^AWS4-HMAC-SHA256 Credential=AKIAGUARD\/\d{8}\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=[a-z;-]+, Signature=[\da-f]{64}$/;
      assert.match(String(headers.authorization), form);
    },
    body: { source: 'INPUT', content: [{ text: { text: prompt } }] },
    hit: {
      action: 'GUARDRAIL_INTERVENED',
      outputs: [{ text: '🙂 I am {NAME}, a bad one' }],
      assessments: [
        {
          sensitiveInformationPolicy: {
            piiEntities: [{ match: 'Jo Doe', type: 'NAME', action: 'ANONYMIZED' }],
            regexes: [],
          },
          contentPolicy: { filters: [{ type: 'HATE', confidence: 'LOW', action: 'NONE' }] },
        },
      ],
    },
    miss: { action: 'NONE', outputs: [], assessments: [{}] },
    masked: '🙂 I am <NAME_1>, a bad one',
  },
  'model-armor': {
    guard: {
      url,
      template: 'projects/acme/locations/europe-west4/templates/strict',
      google: { credentials_file: credentialsFile },
    },
    path: '/v1/projects/acme/locations/europe-west4/templates/strict:sanitizeUserPrompt',
    auth: ({ headers }) => assert.match(String(headers.authorization), /^Bearer token-\d+$/),
    body: { userPromptData: { text: prompt } },
    hit: {
      sanitizationResult: {
        filterMatchState: 'MATCH_FOUND',
        invocationResult: 'SUCCESS',
        filterResults: {
          rai: { raiFilterResult: { executionState: 'EXECUTION_SUCCESS', matchState: 'NO_MATCH_FOUND' } },
          sdp: {
            sdpFilterResult: {
              inspectResult: {
                executionState: 'EXECUTION_SUCCESS',
                matchState: 'MATCH_FOUND',
                findings: [
                  {
                    infoType: 'PERSON_NAME',
                    location: { codepointRange: { start: '7', end: '13' } },
                    likelihood: 'LIKELY',
                  },
                ],
              },
            },
          },
        },
      },
    },
    miss: {
      sanitizationResult: { filterMatchState: 'NO_MATCH_FOUND', invocationResult: 'SUCCESS', filterResults: {} },
    },
    masked: '🙂 I am <PERSON_NAME_1>, a bad one',
  },
  presidio: {
    guard: { url, threshold: 0.5, categories: ['PERSON'] },
    path: '/analyze',
    auth: ({ headers }) => assert.equal(headers.authorization, undefined),
    body: { text: prompt, language: 'en', entities: ['PERSON'], score_threshold: 0.5 },
    hit: [{ entity_type: 'PERSON', start: 7, end: 13, score: 0.85 }],
    miss: [],
    masked: '🙂 I am <PERSON_1>, a bad one',
  },
  lakera: {
    guard: { url, api_key: 'lakera-guard-key', project: 'project-1' },
    path: '/v2/guard',
    auth: ({ headers }) => assert.equal(headers.authorization, 'Bearer lakera-guard-key'),
    body: {
      messages: [{ role: 'user', content: prompt }],
      payload: true,
      breakdown: true,
      project_id: 'project-1',
    },
    hit: {
      flagged: true,
      payload: [{ start: 7, end: 13, text: 'Jo Doe', detector_type: 'pii/name', labels: [], message_id: 0 }],
      breakdown: [{ detector_id: 'd', detector_type: 'pii/name', detected: true, message_id: 0 }],
    },
    miss: { flagged: false, payload: [], breakdown: [] },
    masked: '🙂 I am <PII_NAME_1>, a bad one',
  },
};

const targets = ['up/mock/ok'];
const names = Object.keys(vendors);
const guardOf = (name: string, more: object) => ({
  check: name,
  deadline: '20s',
  on: ['input'],
  ...vendors[name]!.guard,
  ...more,
});
const guards = Object.fromEntries(
  names.flatMap((name) => [
    [name, guardOf(name, { action: 'block' })],
    [`${name}-answers`, guardOf(name, { action: 'block', on: ['output'] })],
    [`${name}-hasty`, guardOf(name, { action: 'block', deadline: '1ms' })],
    ...(vendors[name]!.masked === undefined ? [] : [[`${name}-masks`, guardOf(name, { action: 'mask' })]]),
  ]),
);
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  guards,
  models: Object.fromEntries(Object.keys(guards).map((name) => [name, { targets, guards: [name] }])),
});

// Its look at the upstream's models is a request, too.
await gateway.modelsKnown;

beforeEach(() => {
  service.calls.length = 0;
});

async function ask(model: string) {
  const json = { model, messages: [{ role: 'user', content: prompt }] };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  return { status: response.status, text: await response.text(), guard: response.headers.get('x-culvert-guard') };
}

for (const [name, { path, auth, body, hit, miss, masked }] of Object.entries(vendors)) {
  test(`${name}: the request is as the service documents it, and a miss passes`, async () => {
    service.play = () => miss;
    const { status, text, guard } = await ask(name);
    assert.equal(status, 200, text);
    assert.equal(guard, `${name}=pass; scanned=100%`);
    // What an earlier test gave up on may arrive now.
    const call = service.calls.find((one) => one.path === path);
    assert.ok(call, `none of ${service.calls.map((one) => one.path).join(', ')} is ${path}`);
    assert.match(String(call.headers['content-type']), /^application\/json/);
    auth(call);
    assert.deepEqual(JSON.parse(call.body), body);
  });

  test(`${name}: a hit blocks, in requests and in answers`, async () => {
    service.play = () => hit;
    const input = await ask(name);
    assert.equal(input.status, 400, input.text);
    assert.match(input.text, /guard_blocked/);
    const output = await ask(`${name}-answers`);
    // A place that no text of the answer has is no finding there.
    assert.ok(output.status === 400 || masked !== undefined, output.text);
  });

  test(`${name}: an error, another answer and a late one are no verdict`, async () => {
    const plays: Play[] = [() => ({ status: 429 }), () => 'no json', () => ({ other: 1 })];
    for (const play of plays) {
      service.play = play;
      const { status, text, guard } = await ask(name);
      assert.equal(status, 503, text);
      assert.equal(guard, `${name}=unanswered:1; unscanned; scanned=0%`);
      assert.ok(!/guard-key|sk-guard|aws-guard|127\.0\.0\.1/.test(text), text);
    }
    service.play = () => new Promise(() => {});
    assert.equal((await ask(`${name}-hasty`)).status, 503);
  });

  if (masked === undefined) continue;
  test(`${name}: a place is masked before the upstream is asked`, async () => {
    service.play = () => hit;
    const { status, text } = await ask(`${name}-masks`);
    assert.equal(status, 200, text);
    const sent = upstream.requests().at(-1)!.body as { messages: { content: string }[] };
    assert.equal(sent.messages[0]!.content, masked);
  });
}

test('a text beyond what one request takes is asked about in pieces', async () => {
  const most: [string, number, number, (body: never) => string[]][] = [
    ['azure-content-safety', 10_000, 3, ({ text }: { text: string }) => [text]],
    ['bedrock-guardrails', 25_000, 2, ({ content }: { content: { text: { text: string } }[] }) => content.map(textIn)],
  ];
  for (const [model, charsMax, pieces, textsOf] of most) {
    // The character behind the most is a space, too.
    for (const words of ['word '.repeat(5_500), `x${'word '.repeat(5_500)}`]) {
      service.play = () => vendors[model]!.miss;
      service.calls.length = 0;
      const json = { model, messages: [{ role: 'user', content: words }] };
      const response = await gateway.fetch('/v1/chat/completions', { json });
      assert.equal(response.status, 200, await response.text());
      const scans = service.calls.filter(({ path }) => path === vendors[model]!.path);
      const sent = scans.map(({ body }) => textsOf(JSON.parse(body) as never).join(''));
      assert.ok(sent.length === pieces && sent.every(({ length }) => length <= charsMax), model);
      // They are asked about at once, and come in any order.
      assert.ok(sent.some((text) => words.startsWith(text)) && sent.some((text) => words.endsWith(text)), model);
      // Each repeats the end of the one before it.
      const repeated = (sent.join('').length - words.length) / (pieces - 1);
      assert.ok(repeated > 190 && repeated <= 200, `${model} repeats ${repeated}`);
    }
  }
});

test('a number on both sides of a cut is found and masked once', async () => {
  const number = '+49 170 1234567';
  const content = `${'word '.repeat(3_998)}${number}${' word'.repeat(100)}`;
  service.play = ({ body }) => {
    const start = (JSON.parse(body) as { text?: string }).text?.indexOf(number) ?? -1;
    return start < 0 ? [] : [{ entity_type: 'PHONE', start, end: start + number.length, score: 1 }];
  };
  const response = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'presidio-masks', messages: [{ role: 'user', content }] },
  });
  assert.equal(response.status, 200, await response.text());
  const sent = upstream.requests().at(-1)!.body as { messages: { content: string }[] };
  assert.equal(sent.messages[0]!.content, content.replace(number, '<PHONE_1>'));
});

const textIn = ({ text }: { text: { text: string } }) => text.text;

test('members of another check, and actions that it cannot do, are refused', () => {
  const problem = (guard: object) => {
    const checked = checkConfigText(JSON.stringify({ guards: { ours: guard } }), 'culvert.yaml', {});
    return checked.ok ? '' : checked.errors.map(({ path, message }) => `${path}: ${message}`).join('\n');
  };
  assert.match(problem({ check: 'lakera', action: 'block' }), /check: the check lakera needs api_key/);
  const azure = { check: 'azure-content-safety', url: 'https://a.example', api_key: 'k' };
  assert.match(problem({ ...azure, action: 'mask' }), /action: .* says no places to mask/);
  assert.match(problem({ ...azure, action: 'block', region: 'eu-central-1' }), /region: .* has no region/);
  assert.match(
    problem({ check: 'secrets', action: 'block', api_key: 'k' }),
    /api_key: the check secrets has no api_key/,
  );
  assert.match(
    problem({ check: 'openai-moderation', api_key: 'k', threshold: 4, action: 'block' }),
    /threshold: .* a score from 0 to 1/,
  );
  const armor = { check: 'model-armor', template: 'projects/a/locations/b-c1/templates/t', action: 'block' };
  assert.match(problem({ ...armor, url: 'https://a.example' }), /url: .* needs google where it has a url/);
});

test('no key of a service is shown', () => {
  const checked = checkConfigText(JSON.stringify({ guards }), 'culvert.yaml', {});
  assert.ok(checked.ok);
  const shown = JSON.stringify(redact(checked.config));
  assert.ok(!/sk-guard|azure-guard-key|aws-guard-secret|lakera-guard-key/.test(shown), shown);
});

test('more text than a service is asked about is refused with its cure, and not to be sent again', async () => {
  service.play = () => [];
  const json = { model: 'presidio-masks', messages: [{ role: 'user', content: 'I am. '.repeat(60_000) }] };
  const answer = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /cannot read a request of so much text. Shorten it, or ask the operator/);
  assert.equal(service.calls.length, 0);
});
