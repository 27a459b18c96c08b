import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfigText } from './check.ts';
import { formatWarning } from './problem.ts';

function warningsOf(text: string): string[] {
  const result = checkConfigText(text, 'c', {});
  assert.ok(result.ok, JSON.stringify(result));
  return result.warnings.map(formatWarning);
}

const up = 'providers: { up: { type: ollama } }\n';

test('models of plans and keys that nobody has are named, each with its place', () => {
  const models = 'models: { smart: { targets: [up/m] }, "claude-*": { targets: ["up/*"] } }\n';
  const found = warningsOf(
    `${up}${models}plans: { team: { models: [smart, smrt, claude-opus, "gpt-*", "s*", culvert/bge-m3] } }\nkeys: [{ key: sk-cv-12345678, account: a, name: n, models: [nobody] }]\n`,
  );
  assert.equal(found.length, 3, found.join('\n'));
  assert.match(found[0]!, /^c:3:\d+ plans\.team\.models\[1\]: no model of this file .*did you mean 'smart'/);
  assert.match(found[1]!, /^c:3:\d+ plans\.team\.models\[3\]: no model of this file/);
  assert.match(found[2]!, /^c:4:\d+ keys\[0\]\.models\[0\]: no model of this file has this name\. Correct the name/);
  assert.deepEqual(warningsOf(`${up}plans: { team: { models: [any] } }`), [], 'every model of the provider is one');
});

test('an address of this server that is one of its places, or has a query, is named', () => {
  const of = (url: string) => warningsOf(`server: { public_url: "https://box${url}" }\n`);
  for (const place of ['/v1', '/v1beta/', '/dashboard', '/docs/x'])
    assert.match(
      of(place)[0] ?? '',
      /^c:1:\d+ server\.public_url: \/\w+ is a path of .* Write the address before \/\w+\.$/,
    );
  assert.match(of('/culvert?a=b')[0] ?? '', /fail with a query\. Remove the query\.$/);
  for (const fine of ['', '/', '/culvert', '/v1x/', '/documents', '/team/v1']) assert.deepEqual(of(fine), [], fine);
});

test('a provider without a credential is named, unless its type or its address needs none', () => {
  const [warning, ...others] = warningsOf(`providers:
  openai: { type: openai }
  local: { type: ollama }
  own: { type: openai, base_url: "http://10.0.0.5:8000/v1" }
  aws: { type: bedrock }
  google: { type: vertex }
  keyed: { type: openai, api_key: k }
`);
  assert.deepEqual(others, []);
  assert.match(warning!, /^c:2:3 providers\.openai: has no credential.*\. Write api_key: "\$\{OPENAI_API_KEY\}"/);
});

test('quality without an order of targets is named', () => {
  const of = (targets: string) => warningsOf(`${up}models: { m: { quality: {}, targets: ${targets} } }`);
  assert.match(of('[up/a, up/b]').join(), /models\.m\.quality: all targets have the same priority.* Give the targets/);
  assert.match(of('[up/a]').join(), /models\.m\.quality: .* no other target/);
  assert.deepEqual(of('[up/a, { provider: up, model: b, priority: 2 }]'), []);
});

test('fallbacks that no attempt is left for are named', () => {
  const of = (targets: string, more = '') =>
    warningsOf(`${up}models: { m: { fallbacks: [n], targets: ${targets}${more} }, n: { targets: [up/n] } }`);
  assert.match(of('[up/a, up/b, up/c, up/d]').join(), /models\.m\.fallbacks: its targets \(4\) take .* \(4\).* Raise/);
  assert.match(of('[up/a]', ', attempts: 1').join(), /its targets \(1\) take all attempts of a request \(1\)/);
  assert.deepEqual(of('[up/a, up/b, up/c, up/d]', ', attempts: 5'), []);
  assert.deepEqual(of('[up/a, up/b, up/c]'), []);
});

test('every warning has a remedy that fits it alone', () => {
  const text = `${up}models: { a: { quality: {}, targets: [up/a] }, b: { quality: {}, targets: [up/a, up/b] } }
plans: { team: { models: [nobody] } }
telemetry: { sinks: [{ name: s, folder: x, bodies: true }] }
`;
  const result = checkConfigText(text, 'c', {});
  assert.ok(result.ok);
  const fixes = result.warnings.map(({ fix }) => fix);
  assert.equal(fixes.length, 4);
  assert.equal(new Set(fixes).size, 4);
});

test('more processes than cores are named, and embedded vectors that replicas do not share', () => {
  const shared =
    'storage: { database: "postgres://h/db", state: "redis://h", secret: a-secret-of-more-than-thirty-two-bytes }\n';
  const found = warningsOf(`${up}server: { processes: 128 }\n${shared}`);
  const text = found.join('\n');
  assert.match(text, /server\.processes: this machine has \d+ cores?, so 128 processes cost memory.*or to auto\./);
  assert.match(text, /vectors\.engine: replicas do not share embedded vectors/);
  assert.equal(found.length, 2, found.join('\n'));
  assert.doesNotMatch(warningsOf(`${up}server: { processes: 2 }\n`).join('\n'), /vectors/);
});

test('amounts that warn only where a limit refuses are named, for plans and keys', () => {
  const found = warningsOf(`${up}plans:
  team:
    budget: { week: 20, month: 50 }
    tokens: { 5h: 1000 }
    calendar_budget: { time_zone: Europe/Berlin, day: 5 }
    soft: { budget: { week: 20, month: 40 }, tokens: { 5h: 999 }, calendar_budget: { time_zone: Europe/Berlin, day: 9 } }
keys: [{ key: sk-cv-12345678, account: a, name: n, limits: { tokens: { 5h: 10 }, soft: { tokens: { 5h: 11 } } } }]
`);
  assert.equal(found.length, 3, found.join('\n'));
  assert.match(
    found[0]!,
    /plans\.team\.soft\.budget\.week: warns from 20, and budget\.week refuses from 20: .*Set it below 20/,
  );
  assert.match(
    found[1]!,
    /plans\.team\.soft\.calendar_budget\.day: warns from 9, and calendar_budget\.day refuses from 5/,
  );
  assert.match(found[2]!, /keys\[0\]\.limits\.soft\.tokens\.5h: warns from 11/);
  const zones =
    'calendar_budget: { time_zone: UTC, day: 5 }, soft: { calendar_budget: { time_zone: Asia/Tokyo, day: 9 } }';
  assert.deepEqual(warningsOf(`${up}plans: { team: { ${zones} } }`), []);
});
