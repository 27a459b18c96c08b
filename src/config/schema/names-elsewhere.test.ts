import assert from 'node:assert/strict';
import test from 'node:test';
import { checkConfigText } from '../check.ts';
import { formatProblem } from '../problem.ts';

function errorsOf(text: string): string[] {
  const result = checkConfigText(text, 'culvert.yaml', {});
  assert.ok(!result.ok, 'the check should fail');
  return result.errors.map(formatProblem);
}

test('a setting by the name that another gateway or an SDK has for it says its name here', () => {
  for (const [text, at, meant] of [
    ['providers: { up: { type: openai, apiBase: "http://x" } }', 'providers.up.apiBase', 'base_url'],
    ['plans: { a: { max_parallel_requests: 4 } }', 'plans.a.max_parallel_requests', 'concurrency'],
    ['models: { a: { targets: [p/m], num_retries: 2 } }', 'models.a.num_retries', 'attempts'],
    ['server: { master_key: x }', 'server.master_key', 'admin.key'],
    ['guardrails: []', 'guardrails', 'guards'],
  ] as const) {
    assert.match(errorsOf(text).join('\n'), new RegExp(`${at}: unknown key \\(did you mean '${meant}'\\?\\)`));
  }
});

test('a setting that Culvert has elsewhere, or does not need, is answered with the way to it', () => {
  const model = (more: string) => `models: { "gpt-5.1": { targets: [a/b], ${more} } }`;
  for (const [text, way] of [
    ['server: { tls: { cert: a.pem } }', 'a proxy in front ends TLS'],
    [model('temperature: 0.2'), '`body` of an item of .targets. sets it'],
    [model('system: Be kind.'), "'prompts' has texts"],
    [model('tags: [a]'), 'keys have tags'],
    ['plans: { a: { windows: { 1h: 5 } } }', 'windows are 5h, week and month'],
    ['keys: [{ key: sk-cv-0123456789, limits: { budget: { day: 5 } } }]', 'calendar_budget has a day'],
    ['{\n  // mine\n  "providers": {} }', 'a comment begins with #'],
    ['{ "providers": {\n  // mine\n  "a": { "type": "openai" } } }', 'a comment begins with #'],
    ['// mine\n{ "providers": {} }', 'a comment begins with #'],
    ['{ "providers": {} } /* mine */', 'a comment begins with #'],
  ] as const)
    assert.match(errorsOf(text).join('\n'), new RegExp(way), text);
  assert.match(errorsOf('plans: { a: { windows: { weekly: 5 } } }').join(), /did you mean 'week'/);
});
