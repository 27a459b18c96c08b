import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { callAdmin } from '../call-admin.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';

/** Rules for routes while Culvert runs, and rules that cannot be. */
const upstream = await startQuietUpstream();
after(upstream.close);
const config = {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { smart: { targets: ['up/big'] }, cheap: { targets: ['up/small'] } },
  routes: { fixed: { order: 5, when: 'model == "smart"', tag: 'fixed' } },
};

interface Shown {
  name: string;
  source: string;
  version: number;
  order: number;
  effects: string[];
  data: Shown[];
  error?: { message: string; param: string | null };
}

test('a rule that is created, changed and deleted meets the next request, and stays over a reload', async (t) => {
  const gateway = await startGateway(t, config);
  const call = (method: string, path: string, body?: unknown) => callAdmin<Shown>(gateway, method, path, body);
  const model = async () => {
    const json = { model: 'smart', messages: [{ role: 'user', content: 'x' }] };
    const response = await gateway.fetch('/v1/chat/completions', { json });
    await response.text();
    return response.headers.get('x-culvert-model') ?? response.status;
  };
  assert.equal(await model(), 'big');
  const made = await call('POST', '/routes', { name: 'down', when: 'tokens < 100', model: 'cheap' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual([made.body.source, made.body.version, made.body.effects], ['kept', 1, ['model']]);
  assert.equal(await model(), 'small');
  const { body: list } = await call('GET', '/routes');
  assert.deepEqual(
    list.data.map(({ name }) => name),
    ['down', 'fixed'],
    'in the order in which they are tried',
  );
  assert.equal((await call('PATCH', '/routes/down', { order: 9 })).body.version, 2);
  assert.equal(await model(), 'big', 'the rule of the file comes first now');
  await gateway.reload(config);
  assert.equal((await call('PATCH', '/routes/down', { order: -1 })).status, 200);
  assert.equal(await model(), 'small');
  assert.equal((await call('PATCH', '/routes/fixed', { order: 1 })).status, 409);

  const bad = await call('POST', '/routes', { name: 'bad', when: 'tokns > 3', model: 'cheap' });
  assert.equal(bad.status, 400);
  assert.match(bad.body.error?.message ?? '', /when: line 1, column 1 .*there is no 'tokns'.*did you mean 'tokens'/);
  const none = await call('POST', '/routes', { name: 'bad', model: 'cheep' });
  assert.match(none.body.error?.message ?? '', /there is no such model \(did you mean 'cheap'\?\)/);
  assert.equal((await call('DELETE', '/routes/down')).status, 200);
  assert.equal(await model(), 'big');
});

test('culvert routes creates, changes, lists and deletes rules, and explain says what they do', async (t) => {
  const gateway = await startGateway(t, config);
  const env = { CULVERT_URL: gateway.url, CULVERT_ADMIN_KEY: adminKey };
  const run = (...args: string[]) => runCommand(args, { cwd: temporaryFolder(t), env });
  const made = await run('routes', 'set', 'long', '--when', 'tokens > 8000', '--model', 'cheap');
  assert.equal(made.code, 0, made.stderr);
  const changed = await run('routes', 'set', 'long', '--refuse', 'Too long.', '--settings', '{"model":null}', '--json');
  assert.equal((JSON.parse(changed.stdout) as Shown).version, 2, changed.stdout + changed.stderr);
  const list = JSON.parse((await run('routes', 'list', '--json')).stdout) as Shown;
  assert.deepEqual(
    list.data.map(({ name }) => name),
    ['long', 'fixed'],
  );
  assert.match((await run('routes', 'show', 'long')).stdout, /Too long/);
  assert.equal((await run('routes', 'delete', 'long')).code, 0);
});

/** Of the first error. */
function problemOf(routes: string): string {
  const text = `models: { smart: { targets: [up/big] } }\nproviders: { up: { type: openai, api_key: k } }\nroutes:\n${routes}\n`;
  const checked = checkConfigText(text, 'culvert.yaml', {});
  if (checked.ok) return 'ok';
  const [{ line, column, path, message } = { line: 0, column: 0, path: '', message: '' }] = checked.errors;
  return `${line}:${column} ${path}: ${message}`;
}

const wrong: [routes: string, problem: RegExp][] = [
  [
    '  a: { when: "plann == 1", tag: x }',
    /^4:8 routes\.a\.when: line 1, column 1 of the condition: there is no 'plann' in conditions \(did you mean 'plan'\?\)$/,
  ],
  ['  a:\n    tag: x\n    when: |\n      plan == "a" &&\n      tokns > 3', /^6:5 routes\.a\.when: line 2, column 1 /],
  ['  a: { when: "plan == 3", tag: x }', /these types do not fit: string == int/],
  ['  a: { when: "plan", tag: x }', /expected a condition that is true or false, not a string/],
  ['  a: { when: "plan ==", tag: x }', /column 8 of the condition: unexpected token: EOF/],
  ['  a: { when: \'plan.startWith("a")\', tag: x }', /did you mean 'startsWith'/],
  ['  a: { when: \'plan.matches("(a")\', tag: x }', /no regular expression of RE2/],
  ['  a: { when: \'headers["Authorization"] == "x"\', tag: x }', /holds secrets/],
  ['  a: { when: \'now.getHours("Mars/North") == 1\', tag: x }', /expected a time zone/],
  [`  a: { when: '${'('.repeat(60)}true${')'.repeat(60)}', tag: x }`, /exceeded maxDepth/],
  [`  a: { when: '${'true && '.repeat(300)}true', tag: x }`, /exceeded max/],
  ["  a: { when: 'media.exists(a, media.exists(b, a == b))', tag: x }", /cannot be inside one another/],
  ['  a: { when: "tokens > 1" }', /a rule needs an effect/],
  ['  a: { model: smart, refuse: { message: x } }', /cannot be used together with model/],
  ['  a: { model: smrt }', /there is no such model \(did you mean 'smart'\?\)/],
  [
    '  a: { ladder: { by: tokens, steps: [ { model: smrt } ] } }',
    /^4:\d+ routes\.a\.ladder\.steps\[0\]\.model: there is no such model/,
  ],
  ['  a: { targets: [upp/big] }', /there is no such provider \(did you mean 'up'\?\)/],
  ['  a: { model: smart, targets: [up/bigg] }', /the model 'smart' has no such target \(did you mean 'up\/big'\?\)/],
  ['  a: { refuse: { message: x, status: 500 } }', /status/],
  ['  1a: { tag: x }', /begins with a letter/],
  ['  a: { wen: "true", tag: x }', /did you mean 'when'/],
];

for (const [routes, problem] of wrong) {
  test(`a wrong rule is refused at its place: ${routes.slice(0, 70)}`, () => {
    assert.match(problemOf(routes), problem);
  });
}
