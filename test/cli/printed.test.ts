import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { adminKey, noLimits, otherKey, startGateway, testKey } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

/* What commands print for people, at a terminal: elsewhere they print JSON. The expected text is in printed-*.txt,
 * which CULVERT_WRITE_EXPECTED=1 writes. */

/** Text where times, ids and durations are the same each time. */
function masked(text: string): string {
  return (
    text
      .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.-]+Z?/g, 'TIME')
      // Where this machine has it.
      .replaceAll(', espeak-ng', '')
      .replaceAll(/\d{4}-\d\d-\d\d/g, 'DAY')
      .replaceAll(/sk-cv-(op-)?(\w{12}|KEY)(-\w+)?/g, 'sk-cv-$1SECRET')
      .replaceAll(/\b(req|inv|op|top|br)_[\w-]{12,}/g, '$1_ID')
      .replaceAll(/(?<=^version +|invitation=|0\.0\.0-test +)[\w-]+/gm, 'ID')
      .replaceAll(/\b\d+(\.\d+)? (ms|s)\b/g, 'N ms')
      .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://HERE')
      // Over a minute later there are none any more.
      .replaceAll(/^minute {2,}tokens .*\n/gm, '')
      .replaceAll(/ {2,}/g, '  ')
      .replaceAll(/ +$/gm, '')
  );
}

/** They print what the machine takes. */
const measuring = /^(requests|migrate|backup|restore|attempts|cluster|results)/;

test('commands print tables and sentences for people', async (t: TestContext) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    server: { processes: 1 },
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: {
      smart: { targets: [{ provider: 'up', model: 'mock/ok', price: { input: 3, output: 15 } }] },
      broken: { targets: ['up/mock/status=400'] },
      free: { targets: ['up/mock/text=free'] },
    },
    plans: { ...noLimits, small: { windows: { '5h': 2, week: 10 }, rpm: 20, concurrency: 2, models: ['smart'] } },
    keys: [
      { key: testKey, account: 'dev', name: 'test', tags: ['team-a'] },
      { key: otherKey, account: 'dev', name: 'other', models: ['smart', 'free'] },
    ],
    guards: { mails: { check: 'personal-data', kinds: ['email'], action: 'mask' } },
    prompts: { reply: { model: 'smart', messages: [{ role: 'system', content: 'Answer in verse.' }] } },
  });
  const cwd = temporaryFolder(t);
  const env = { CULVERT_URL: gateway.url, CULVERT_ADMIN_KEY: adminKey, CULVERT_API_KEY: testKey };
  const messages = [{ role: 'user', content: 'Hello' }];
  for (const model of ['smart', 'smart', 'free', 'broken'])
    await (await gateway.fetch('/v1/chat/completions', { json: { model, messages } })).arrayBuffer();

  await gateway.modelsKnown;
  writeFileSync(join(cwd, 'cases.jsonl'), cases.map((one) => JSON.stringify(one)).join('\n'));

  assertPrinted('at-a-server', await printed(commands, cwd, env));
});

test('commands that need no server print for people too', async (t: TestContext) => {
  const cwd = temporaryFolder(t);
  const config = {
    storage: { data_dir: 'data' },
    autodetect: 'off',
    providers: {
      up: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' },
      claude: { type: 'anthropic', base_url: 'http://127.0.0.1:9', api_key: 'k' },
    },
    models: { smart: { targets: ['up/gpt-5', { provider: 'claude', model: 'claude-x', priority: 2 }] } },
    keys: [{ key: testKey, account: 'dev', name: 'test' }],
  };
  writeFileSync(join(cwd, 'culvert.yaml'), JSON.stringify(config));
  writeFileSync(join(cwd, 'wrong.yaml'), 'models:\n  smart: { targets: [nobody/m] }\nprovider: {}\n');
  const messages = [{ role: 'user', content: 'Hello' }];
  const bodies = {
    chat: { model: 'smart', messages, seed: 7, top_k: 3 },
    unknown: { model: 'smrt', messages },
    picture: { model: 'smart', messages: [], n: 'two' },
  };
  for (const [name, body] of Object.entries(bodies)) writeFileSync(join(cwd, `${name}.json`), JSON.stringify(body));
  writeFileSync(
    join(cwd, 'litellm.yaml'),
    'model_list:\n  - { model_name: a, litellm_params: { model: openai/gpt-4o, odd: 1 } }\nodd_settings: { b: 1 }\n',
  );
  assertPrinted('alone', await printed(commandsAlone, cwd, { CULVERT_CACHE_DIR: join(cwd, 'cache') }));
});

/** What commands print at a terminal, one after the other. */
async function printed(lines: readonly string[], cwd: string, env: Record<string, string>): Promise<string> {
  const parts: string[] = [];
  let [keyId, requestId] = ['', ''];
  for (const line of lines) {
    const args = line.replace('{request}', requestId).split(' ');
    const { stdout, stderr, code } = await runCommand(args, { cwd, env, columns: 200 });
    keyId ||= /^sk-cv-(\w{12})-/.exec(stdout)?.[1] ?? '';
    requestId ||= /req_[\w-]+/.exec(stdout)?.[0] ?? '';
    const whole = `${stdout}${stderr}`.replaceAll(cwd, 'FOLDER');
    const output = masked(keyId === '' ? whole : whole.replaceAll(keyId, 'KEY'));
    // A rate is absent where an answer took less than a millisecond.
    const shown = measuring.test(line)
      ? output
          .replaceAll(/\d+(\.\d+)?/g, 'N')
          .replaceAll(/^(up +)N( +N)+/gm, '$1N …')
          .replaceAll(hostname(), 'HOST')
      : output;
    parts.push(`$ culvert ${line}\n${shown}${code === 0 ? '' : `exit ${code}\n`}`);
  }
  return parts.join('\n');
}

function assertPrinted(name: string, text: string): void {
  const file = new URL(`./printed-${name}.txt`, import.meta.url);
  if (process.env.CULVERT_WRITE_EXPECTED === '1') writeFileSync(file, text);
  assert.equal(text, readFileSync(file, 'utf8'));
}

const commandsAlone = [
  'init made.yaml',
  'init made.yaml',
  'check',
  'check wrong.yaml',
  'check none.yaml',
  'explain chat.json',
  'explain unknown.json',
  'explain picture.json',
  'import litellm litellm.yaml --output other.yaml',
  'keys create --account acme --name laptop --plan nowhere',
  'keys create --account acme --name laptop',
  'keys create --account acme --name laptop',
  'keys list',
  'keys revoke acme/nobody',
  'accounts show acme',
  'accounts show nobody',
  'config export',
  'secret rotate',
  'migrate',
  'backup all.gz',
  'restore all.gz --yes',
  'requests export --out all.csv',
  'usage',
  'vectors list',
  'add --list',
  'reload',
  'chat Hello',
  'keys lst',
];

const mail = 'Write to jo.doe@example.org';
const cases = [
  { text: mail, expect: ['email'] },
  { text: 'Nothing here', expect: ['email'] },
  { text: `Also: ${mail}`, expect: [] },
];

const commands = [
  'keys show dev/test',
  'accounts create acme --name Acme --plan small',
  'accounts create prepaid',
  'accounts list',
  'accounts credit prepaid 25 --note invoice-1',
  'accounts credit prepaid',
  'accounts credit acme',
  'accounts extra-budget acme 5 --until 2099-01-01',
  'accounts extra-budget acme',
  'accounts guards acme mails',
  'accounts guards acme',
  'accounts guards acme none',
  'accounts data acme zero-retention',
  'accounts data acme',
  'accounts budgets acme user=5/month',
  'accounts budgets acme',
  'accounts budgets acme none',
  'accounts suspend prepaid',
  'accounts activate prepaid',
  'accounts plan prepaid small',
  'accounts plan prepaid large',
  'accounts show acme',
  'accounts show prepaid',
  'keys create --account acme --name laptop --models smart --tags team-b,night --expires 2099-01-01',
  'keys list',
  'keys list --account acme',
  'keys show acme/laptop',
  'keys guards acme/laptop mails',
  'keys change acme/laptop --name tower --limits budget.month=50,rpm=none --ips 10.0.0.0/8',
  'keys show acme/tower',
  'keys rotate acme/tower --grace 0',
  'keys revoke acme/tower',
  'keys revoke dev/other',
  'keys restore dev/other',
  'plans list',
  'plans show small',
  'operators create Anna --role viewer',
  'operators list',
  'invitations create --role viewer',
  'invitations list',
  'members list',
  'models',
  'providers list',
  'providers test up',
  'guards list',
  'guards show mails',
  'guards test cases.jsonl --guard mails --show',
  'prompts list',
  'prompts show reply',
  'routes list',
  'agents list',
  'mcp-servers list',
  'requests list',
  'requests show {request}',
  'requests sessions',
  'usage --group-by model',
  'usage --group-by key_tag',
  'usage recalculate',
  'usage recalculate --all',
  'statements show 2026-01',
  'attempts',
  'alerts list',
  'audit',
  'cluster',
  'bodies list',
  'bodies rules',
  'bodies keep model smart --reason a-complaint --until 2h',
  'results smart',
  'cache stats',
  'cache days',
  'vectors list',
  'guards set names --check words --words zebrafish,otter --action block --on input',
  'guards set names --mode observe',
  'guards set mails --mode observe',
  'guards list',
  'guards delete mails',
  'guards delete names',
  'routes set long --when tokens>9000 --model smart',
  'routes set long --tag slow',
  'routes set long --when tokens>',
  'routes list',
  'routes show long',
  'routes savings long',
  'routes delete long',
  'prompts add greet --system Hello-{{name}} --variables name --model smart',
  'prompts version greet --system Bye-{{name}} --variables name --model smart --labels draft',
  'prompts label greet --label production --to 2',
  'prompts label greet --label production --to 7',
  'prompts list',
  'prompts show greet',
  'prompts remove greet',
  'models add mine --targets up/mock/text=mine --fallbacks smart --cost 2',
  'models add smart --targets up/x',
  'models remove mine',
  'providers add other --type openai --base-url http://127.0.0.1:9/v1 --key-env CULVERT_API_KEY',
  'providers add other --type openai --base-url http://127.0.0.1:9/v1 --key-env CULVERT_API_KEY --untested',
  'providers list',
  'providers remove up',
  'providers remove other',
  'agents add worker http://127.0.0.1:9',
  'mcp-servers add sums http://127.0.0.1:9/mcp --allow add*',
  'accounts budgets acme user=5/month tag:team-a=20/week',
  'accounts show acme',
  'statements close 2025-01 --time-zone Europe/Berlin',
  'statements closed',
  'statements close 2099-01',
  'cache clear --model smart',
  'bodies remove --model smart',
  'chat Hello --model smart',
];
