import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { Score } from '../../src/guards/score.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';
import { until } from '../until.ts';

/* Guards tried on labelled texts and on requests of the past. */

const upstream = await startQuietUpstream();
after(upstream.close);
const mail = 'jo.doe@example.org';
const token = ['ghp', 'R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m'].join('_');
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { smart: { targets: ['up/m'] } },
  guards: {
    pii: { check: 'personal-data', kinds: ['email', 'card'], action: 'mask', mode: 'observe' },
    keys: { check: 'secrets', action: 'block', on: ['output'] },
    asks: { check: 'webhook', url: 'https://guard.example/', action: 'block' },
  },
  keys: ['logged', 'kept', 'other'].map((name) => ({ key: `sk-cv-${name}-12345678`, account: 'dev', name })),
  telemetry: { log: { bodies: ['dev/logged'] } },
});

interface Result {
  request_id: string | null;
  line: number;
  verdict: string;
  found: string[];
  right: boolean | null;
  missed: string[];
  extra: string[];
  guards: { name: string; verdict: string; findings: Record<string, number> }[];
  masked: string | null;
}

interface Reply {
  not_tried: string[];
  results: Result[];
  score: Score;
  kept: { requests: number; tried: number; note: string | null } | null;
  error?: { message: string; param: string };
}

async function trial(json: object) {
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch('/admin/v1/guards/test', { json, headers });
  return { status: response.status, body: (await response.json()) as Reply };
}

const formats = {
  chat: { messages: [{ role: 'user', content: mail }] },
  messages: { system: `for ${mail}`, messages: [{ role: 'user', content: 'x' }] },
  responses: { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: `{"to":"${mail}"}` }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: mail }] }] },
  'chat in parts': {
    messages: [
      {
        role: 'user',
        content: mail.split('@').map((text, at) => ({ type: 'text', text: at === 0 ? `${text}@` : text })),
      },
    ],
  },
};

for (const [format, request] of Object.entries(formats)) {
  test(`a trial reads requests of the format ${format} as guards do`, async () => {
    const { status, body } = await trial({ guards: ['pii'], requests: [request] });
    assert.equal(status, 200, JSON.stringify(body));
    const [result] = body.results;
    assert.deepEqual([result?.verdict, result?.found], ['masked', ['email']]);
    assert.ok(!JSON.stringify(body).includes(mail), 'the reply holds no text');
  });
}

test('precision, recall and verdicts are those of the labels', async () => {
  const cases = [
    { text: mail, expect: ['email'] },
    { text: 'write to jo at example', expect: ['email'] },
    { text: `${mail} and 4111 1111 1111 1111`, expect: ['card'] },
    { text: token, expect: 'blocked' },
    { text: 'harmless', expect: [] },
    { text: 'unjudged' },
  ];
  const { body } = await trial({ cases });
  assert.deepEqual(body.not_tried, ['asks']);
  assert.deepEqual(
    body.results.map(({ verdict, right }) => [verdict, right]),
    [
      ['masked', true],
      ['pass', false],
      ['masked', false],
      ['blocked', true],
      ['pass', true],
      ['pass', null],
    ],
  );
  assert.deepEqual(
    body.results.map(({ masked }) => masked),
    ['<EMAIL_1>', null, '<EMAIL_1> and <CARD_1>', null, null, null],
  );
  assert.deepEqual([body.results[1]?.missed, body.results[2]?.extra], [['email'], ['email']]);
  const { kinds, precision, recall, verdicts, judged, right } = body.score;
  assert.deepEqual(
    kinds.map(({ kind, expected, found, right }) => [kind, expected, found, right]),
    [
      ['card', 1, 1, 1],
      ['email', 2, 2, 1],
    ],
  );
  assert.deepEqual([precision, recall, judged, right], [2 / 3, 2 / 3, 5, 3]);
  assert.deepEqual(verdicts, { masked: 2, pass: 3, blocked: 1 });
});

test('a draft is tried without being stored, and bad bodies are refused by their field', async () => {
  const draft = { check: 'words', words: ['falcon'], action: 'route', route_to: 'smart' };
  const { body } = await trial({ draft, texts: [`Falcon ${mail}`] });
  assert.deepEqual([body.results[0]?.verdict, body.results[0]?.found], ['routed', ['word']]);
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
  const unread = await trial({ guards: ['pii'], requests: [{ messages: [{ role: 'user', content: [image] }] }] });
  assert.equal(unread.body.results[0]?.verdict, 'unscanned');
  const refusals: [object, string | null, RegExp][] = [
    [{ guards: ['pi'], texts: ['x'] }, 'guards[0]', /no such guard \(did you mean 'pii'/],
    [{ cases: [{ text: 'x', request: {} }] }, 'cases[0]', /one of text, request and answer/],
    [{ cases: [{ text: 'x', expect: 'maskd' }] }, 'cases[0].expect', /a list of kinds such as/],
    [{ draft: { check: 'words', action: 'flag' }, texts: [] }, 'draft.check', /need each other/],
    [{}, null, /expected texts, requests, answers, cases or from/],
  ];
  for (const [json, param, message] of refusals) {
    const refused = await trial(json);
    assert.equal(refused.status, 400, JSON.stringify(refused.body));
    assert.equal(refused.body.error?.param, param);
    assert.match(refused.body.error?.message ?? '', message);
  }
});

test('answers meet a JSON schema or not, and other guards read them too', async () => {
  const schema = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
  const draft = { check: 'json-schema', action: 'block', schema };
  const cases = [
    { answer: '{"name":"Ulm"}', expect: [] },
    { answer: '{"name":7}', expect: ['schema'] },
    { answer: 'Ulm', expect: 'blocked' },
    { answer: JSON.stringify({ name: mail }), expect: 'masked' },
    { text: 'Ulm', expect: 'pass' },
  ];
  const { status, body } = await trial({ draft, guards: ['pii'], cases, answers: ['{}'] });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.not_tried, []);
  assert.deepEqual(
    body.results.map(({ verdict, right }) => [verdict, right]),
    [
      ['blocked', null],
      ['pass', true],
      ['blocked', true],
      ['blocked', true],
      ['masked', true],
      ['pass', true],
    ],
  );
  assert.deepEqual(
    body.results.at(-1)?.guards.map(({ name }) => name),
    ['pii'],
  );
  const none = await trial({ draft, texts: ['Ulm'] });
  assert.deepEqual([none.body.not_tried, none.body.results[0]?.verdict], [['draft'], 'pass']);
  const odd = { ...draft, schema: { $ref: '#/none' } };
  const refused = await trial({ draft: odd, answers: ['{}'] });
  assert.deepEqual(
    [refused.status, refused.body.error?.param],
    [400, 'draft.schema["$ref"]'],
    JSON.stringify(refused.body),
  );
});

test('what guards would have done with requests of the past, and why some are missing', async () => {
  const by = (name: string) => ({ authorization: `Bearer sk-cv-${name}-12345678` });
  const json = { model: 'smart', messages: [{ role: 'user', content: `kept ${mail}` }] };
  const logged = await gateway.fetch('/v1/chat/completions', { json, headers: by('logged') });
  await logged.text();
  await (await gateway.fetch('/v1/chat/completions', { json, headers: by('other') })).text();
  // By a rule, as `culvert bodies keep` makes one: longer than what the log has.
  const rule = { of: 'key', name: 'sk-cv-declared:dev/kept', reason: 'to try guards' };
  const made = await gateway.fetch('/admin/v1/body-rules', {
    json: rule,
    headers: { authorization: `Bearer ${adminKey}` },
  });
  assert.equal(made.status, 201, await made.text());
  const long = { ...json, messages: [{ role: 'user', content: `${'word '.repeat(20_000)}${mail}` }] };
  const keptByRule = await gateway.fetch('/v1/chat/completions', { json: long, headers: by('kept') });
  await keptByRule.text();
  let reply: Reply | null = null;
  await until('the requests are in the ledger, and the body is kept', async () => {
    reply = (await trial({ from: '7d' })).body;
    return reply.kept?.requests === 3 && reply.kept.tried === 2;
  });
  const { results, kept } = reply as unknown as Reply;
  assert.match(kept?.note ?? '', /no rule \(culvert bodies keep\) and no telemetry\.log\.bodies names them/);
  assert.deepEqual(
    results.map(({ request_id, verdict, found }) => [request_id, verdict, found]),
    [keptByRule, logged].map(({ headers }) => [headers.get('x-culvert-request-id'), 'masked', ['email']]),
  );
});

test('the command prints a table, and wrong lines by number without their text', async (t) => {
  const cwd = temporaryFolder(t);
  const file = join(cwd, 'labelled.jsonl');
  const lines = [
    { text: mail, expect: ['email'] },
    { text: `second ${mail}`, expect: [] },
    { request: formats.chat, expect: 'blocked' },
  ];
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n\n')}\n`);
  const run = (...args: string[]) =>
    runCommand([...args, '--url', gateway.url], { env: { CULVERT_ADMIN_KEY: adminKey }, cwd });
  const { stdout, code, stderr } = await run('guard', 'test', file, '--guard', 'pii', '--json');
  assert.equal(code, 0, stderr);
  const said = JSON.parse(stdout) as Score & { results: Result[] };
  assert.deepEqual([said.precision, said.recall, said.verdicts], [0.5, 1, { masked: 3 }]);
  assert.deepEqual(
    said.results.filter(({ right }) => right === false).map(({ line, extra }) => [line, extra]),
    [
      [3, ['email']],
      [5, []],
    ],
  );
  assert.ok(!stdout.includes(mail));
  writeFileSync(file, `${JSON.stringify({ answer: `for ${mail}`, expect: [] })}\n`);
  const answers = JSON.parse((await run('guards', 'test', file, '--guard', 'pii')).stdout) as { results: Result[] };
  assert.deepEqual(answers.results[0]?.extra, ['email']);
  writeFileSync(file, '{"text":"x"}\n{"text":"x","expect":7}\n');
  const refused = await run('guards', 'test', file);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr + refused.stdout, /Line 2: .*expect/);
  // More than one call of the admin API may hold.
  const long = (one: object) => JSON.stringify({ text: `${mail} ${'x '.repeat(300_000)}`, ...one });
  writeFileSync(file, [long({ expect: ['email'] }), long({ expect: ['email'] }), long({ expect: 7 })].join('\n'));
  assert.match((await run('guards', 'test', file, '--guard', 'pii')).stderr, /Line 3: .*expect/);
  writeFileSync(file, [long({ expect: ['email'] }), long({ expect: [] })].join('\n'));
  const both = JSON.parse((await run('guards', 'test', file, '--guard', 'pii')).stdout) as { results: Result[] };
  assert.deepEqual(both.results.map(({ line, right }) => [line, right]), [[1, true], [2, false]]); // biome-ignore format: a table
  const none = await run('guards', 'test');
  assert.match(none.stderr + none.stdout, /Name a file, or --from/);
});
