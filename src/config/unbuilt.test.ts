import assert from 'node:assert/strict';
import test from 'node:test';
import { checkConfigText } from './check.ts';
import { formatProblem } from './problem.ts';
import { configSchema } from './schema.ts';
import { knownKeys } from './schema-issues.ts';
import { unbuilt } from './unbuilt.ts';

const check = (text: string) => {
  const result = checkConfigText(text, 'c', {});
  const problems = result.ok ? result.warnings : result.errors;
  return { ok: result.ok, lines: problems.map((problem) => formatProblem(problem).replace(/^\S+ /, '')) };
};

test('every rule names a key that the schema knows', () => {
  for (const { path } of unbuilt) {
    const steps = path.map((step) => (step === '*' ? 'x' : step));
    const last = steps.pop()!;
    const known = knownKeys(configSchema, steps);
    assert.ok(last === 'x' || known.includes(last), path.join('.'));
  }
});

test('plans, tiers, accounts, addresses of keys and shared stores pass without a word', () => {
  for (const text of [
    'plans: { free: {}, unlimited: { windows: off, rpm: off, tpm: off, concurrency: off, models: off, tier_limits: off, tokens: off, budget: off } }',
    'plans: { a: { windows: { 5h: 50, week: 300 }, rpm: 60, tpm: 5, concurrency: 4, models: [x], tokens: { month: 5 }, budget: { month: 0 }, scope: key } }',
    'tiers: { premium: off, basic: {}, other: { rpm: 20 } }\nplans: { a: { tier_limits: { premium: { rpm: 1 } } } }',
    'accounts: { dev: { plan: default, status: suspended, name: D } }\nkeys: [{ key: sk-cv-12345678, account: dev, expires: 2027-01-01, models: ["a-*"], ips: [10.0.0.0/8] }]',
    'providers: { a: { type: openai, credentials: [{ api_key: x, rpm: 500 }] } }',
    'storage: { database: "postgres://h/db", state: "redis://h", on_state_loss: local, secret: a-secret-of-more-than-thirty-two-bytes }\nvectors: { engine: qdrant, url: "http://q" }',
    'vectors: { memory: 2gb, workers: 2, limits: { collections: 5, points_per_call: 100 } }\ncosts: { vectors: 0.1 }',
    'tools: { scrape: { render: always, chromium: /usr/bin/chromium } }',
    'server: { trusted_proxies: ["::1", 10.0.0.0/8], public_url: "https://ai.example.org" }\ncosts: { image: 2 }',
  ]) {
    assert.deepEqual(check(text), { ok: true, lines: [] }, text);
  }
});

test('stores that are not built are refused: data would be somewhere else than was said', () => {
  assert.match(check('storage: { files: "s3://b" }').lines[0]!, /this version keeps files in the data folder alone/);
  assert.deepEqual(check('storage: { database: sqlite, state: memory, files: local }'), { ok: true, lines: [] });
});

test('other keys that are not built pass with a warning that says what is missing', () => {
  for (const [text, line] of [
    [
      'telemetry: { otlp: "http://127.0.0.1:4318" }',
      'telemetry.otlp: has no effect yet: this version exports no OpenTelemetry',
    ],
  ] as const) {
    assert.deepEqual(check(text), { ok: true, lines: [line] }, text);
  }
  assert.deepEqual(
    check(
      'telemetry: { log: { bodies: false } }\nadmin: { dashboard: false }\nproviders: { a: { type: anthropic, dialects: [anthropic-messages] }, b: { type: openai, dialects: [openai-chat] }, c: { type: gemini, dialects: [gemini] } }',
    ),
    {
      ok: true,
      lines: [],
    },
  );
});
