import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { parse } from 'yaml';
import { startGateway } from '../start-gateway.ts';
import { postgresMissing, type StartedPostgres, startPostgres } from '../start-postgres.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

/* A PostgreSQL with LiteLLM's own tables, made by the migrations of its package, becomes a culvert.yaml that serves. */

const migrations = fileURLToPath(new URL('../../.test-tools/python/litellm_proxy_extras/migrations', import.meta.url));
const skip =
  postgresMissing ||
  (existsSync(migrations) ? false : 'litellm-proxy-extras for Python is not installed (npm run setup:test-tools)');

/** Sealed by PyNaCl and by Python's cryptography, as LiteLLM seals, under this salt. */
const saltKey = 'sk-salt-of-the-test';
const sealed = {
  model: 'a-tp4XsVvWZzwKtB_tctAITlGiSuV_WzLX2yxjkISuYtb07mdm2ulJlfDHv63vDXz9TblgFT',
  key: 'BTFuUuNsA6fdDy-1X0rnafZWYS6V8_wL5lpTRrAi97d_gfYxI9k1akBpfYkjQ95EvBpqquN5DPn7Q3Q=',
  gcmKey: 'v2:gcm:7zuRIo7om72k7v9SpB-OOZ-jH_RX-UTsHlmu3BklfzXT4knZhTQ=',
  credential: 'kCxvTKRw06pL2cLCRrVExTCo95BqzAC3HKLrqMGK63Nw5Gw3qzo6VKjQqdoEMPAj3I5TDeE3B2ExRto=',
};

const secrets = {
  laptop: 'sk-litellm-laptop-0001',
  ci: 'sk-litellm-ci-0002',
  alice: 'sk-litellm-alice-0003',
  blocked: 'sk-litellm-blocked-0004',
  late: 'sk-litellm-of-the-late-0005',
  bob: 'sk-litellm-bob-0006',
  bobAgain: 'sk-litellm-bob-0007',
  app: 'sk-litellm-app-0008',
  appBefore: 'sk-litellm-app-0009',
  wide: 'sk-litellm-wide-0010',
};

interface Written {
  providers: Record<string, { api_key?: string }>;
  models: Record<string, unknown>;
  plans: Record<string, Record<string, unknown>>;
  default_plan: string;
  accounts: Record<string, Record<string, unknown>>;
  keys: Record<string, unknown>[];
}

describe('culvert import litellm --database', { skip }, () => {
  let postgres: StartedPostgres;
  let upstream: Awaited<ReturnType<typeof startUpstream>>;
  before(async () => {
    postgres = await startPostgres(null);
    upstream = await startUpstream();
    await fill(postgres.url, `${upstream.url}/v1`);
  });
  after(async () => {
    await postgres?.stop('SIGKILL');
    await upstream?.close();
  });

  async function written(cwd: string, ...args: string[]): Promise<{ config: Written; stderr: string; stdout: string }> {
    const env = { LITELLM_SALT_KEY: saltKey };
    const { code, stdout, stderr } = await runCommand(['import', 'litellm', ...args], { cwd, env });
    assert.equal(code, 0, stderr);
    const config = parse(readFileSync(join(cwd, 'culvert.yaml'), 'utf8')) as Written;
    return { config, stdout, stderr };
  }

  test('teams and users become accounts and plans, budgets rolling windows, keys keep their hash', async (t) => {
    const { config, stdout, stderr } = await written(temporaryFolder(t), '--database', postgres.url);
    assert.match(stdout, /^Wrote culvert\.yaml: providers 3, models 3, accounts 4, keys 4, notes \d+\.$/m);
    assert.deepEqual(config.plans, {
      Research: {
        rpm: 600,
        tpm: 100_000,
        concurrency: 8,
        budget: { month: 50 },
        models: ['smart', 'cheap', 'open/*'],
      },
      'alice-example.com': { rpm: 'off', calendar_budget: { day: 10 } },
      unlimited: { rpm: 'off' },
    });
    assert.equal(config.default_plan, 'unlimited');
    assert.deepEqual(config.accounts, {
      Research: { plan: 'Research' },
      Gone: { status: 'suspended' },
      'alice-example.com': { name: 'alice@example.com', plan: 'alice-example.com' },
      litellm: {},
    });
    const [laptop, ci, alice] = config.keys;
    assert.deepEqual(laptop, {
      sha256: hash('sha256', secrets.laptop),
      account: 'Research',
      name: 'laptop',
      models: ['smart'],
      limits: { rpm: 1 },
    });
    assert.deepEqual([ci!.expires, ci!.limits], ['2099-01-01T00:00:00Z', { tpm: 7, budget: { '5h': 5, month: 9 } }]);
    assert.deepEqual([alice!.account, alice!.name], ['alice-example.com', 'sk-...0003']);
    for (const wanted of [
      /database LiteLLM_VerificationToken\.blocked: this key is not carried over: it is blocked/,
      /database LiteLLM_VerificationToken\.odd: .* no SHA-256 of it, so its caller needs a new one/,
      /database LiteLLM_VerificationToken\.old: this key is not carried over: it has expired/,
      /database LiteLLM_VerificationToken\.ci\.model_max_budget: not carried over: accounts\.NAME\.budgets has budgets by model/,
      /database LiteLLM_Config\.environment_variables: not carried over: set them in the environment/,
      /database LiteLLM_VerificationToken\.ci\.soft_budget: not carried over: soft\.budget of plans/,
    ]) {
      assert.match(stderr, wanted);
    }
    assert.doesNotMatch(stderr, /dashboard/);
  });

  test('the written file starts a gateway that knows LiteLLM’s keys, models and limits', async (t) => {
    const { config } = await written(temporaryFolder(t), '--database', postgres.url);
    const gateway = await startGateway(t, config as unknown as Record<string, unknown>);
    const ask = async (key: string, model: string) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] });
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body });
      await answer.text();
      return answer.status;
    };
    const sentKey = () => upstream.requests().at(-1)!.headers.authorization;
    assert.equal(await ask(secrets.laptop, 'smart'), 200);
    assert.equal(sentKey(), 'Bearer key-of-the-database');
    assert.equal(await ask(secrets.laptop, 'smart'), 429, 'rpm_limit of the key');
    assert.equal(await ask(secrets.alice, 'cheap'), 200);
    assert.equal(sentKey(), 'Bearer key-by-gcm');
    assert.equal(await ask(secrets.alice, 'open/ok'), 200);
    assert.equal(sentKey(), 'Bearer key-of-a-credential');
    assert.equal(await ask(secrets.ci, 'cheap'), 403, 'models of the key');
    assert.equal(await ask(secrets.late, 'smart'), 403, 'its team is blocked');
    for (const key of [secrets.blocked, 'sk-litellm-unknown']) assert.equal(await ask(key, 'smart'), 401);
  });

  test('the file and the database are one configuration, and --json says which note is of which', async (t) => {
    const cwd = temporaryFolder(t);
    const model = 'model: openai/gpt-4o, api_key: os.environ/KEY_A, temperature: 1';
    writeFileSync(
      join(cwd, 'litellm.yaml'),
      `model_list: [{ model_name: filed, litellm_params: { ${model} } }]\nrouter_settings: { num_retries: 1 }`,
    );
    const { config, stdout } = await written(cwd, 'litellm.yaml', '--database', postgres.url, '--json');
    assert.deepEqual(Object.keys(config.models), ['filed', 'smart', 'cheap', 'open/*']);
    // LiteLLM_Config wins.
    assert.equal((config.models.filed as { attempts: number }).attempts, 4);
    const report = JSON.parse(stdout) as { keys: number; notes: { line: number | null; path: string }[] };
    assert.equal(report.keys, 4);
    const lineOf = (start: string) => report.notes.find(({ path }) => path.startsWith(start))?.line;
    assert.equal(lineOf('model_list[0].litellm_params.temperature'), 1);
    assert.equal(lineOf('LiteLLM_VerificationToken'), null);
  });

  test('organizations, projects, members of teams and tags bound the accounts and keys below them', async (t) => {
    await fillOrganization(postgres.url);
    const { config, stderr } = await written(temporaryFolder(t), '--database', postgres.url);
    const { Acme, Sales, Support } = config.plans;
    assert.deepEqual(
      [Sales, Support, Acme],
      [
        { rpm: 100, budget: { week: 25, month: 80 }, models: ['cheap'] },
        { rpm: 100, budget: { month: 80 }, models: ['smart', 'cheap'] },
        { rpm: 100, budget: { month: 80 }, models: ['smart', 'cheap'] },
      ],
    );
    const found = Object.fromEntries(config.keys.map(({ sha256, ...key }) => [sha256 as string, key]));
    const keyOf = (secret: keyof typeof secrets) => found[hash('sha256', secrets[secret])];
    const bob = { account: 'Sales', models: ['cheap', 'smart'], limits: { rpm: 3, budget: { week: 2 } } };
    assert.deepEqual(keyOf('bob'), { ...bob, name: 'bob' });
    assert.deepEqual(keyOf('bobAgain'), { ...bob, name: 'bob-2' });
    const limits = { tpm: 50, concurrency: 2, budget: { '5h': 1, week: 1 } };
    const app = { account: 'Support', limits, tags: ['nightly'] };
    assert.deepEqual(keyOf('app'), { ...app, name: 'app', models: ['smart'] });
    assert.deepEqual(keyOf('appBefore'), {
      ...app,
      name: 'app-before',
      models: ['smart'],
      expires: '2098-01-01T00:00:00Z',
    });
    assert.deepEqual(keyOf('wide'), { account: 'Acme', name: 'wide' });
    for (const wanted of [
      /database LiteLLM_OrganizationTable\.Acme: its limits count for each of 3 accounts or keys separately; together/,
      /database LiteLLM_OrganizationTable\.Acme\.soft_budget: not carried over/,
      /database LiteLLM_TeamMembership\.bob@example\.com in Sales: its limits count for each of 2 accounts or keys/,
      /database LiteLLM_TeamMembership: limits of 1 not carried over: no key has them/,
      /database LiteLLM_TagTable\.nightly: its budget counts for each of the keys that have the tag/,
      /database LiteLLM_TagTable: limits of 1 not carried over: no key has them/,
      /database LiteLLM_VerificationToken\.halted: this key is not carried over: Stopped is blocked/,
      /database LiteLLM_EndUserTable: 1 not carried over: accounts\.NAME\.budgets bounds/,
      /database LiteLLM_UserTable: 1 not carried over: these people have limits, but no key outside of teams/,
      /database LiteLLM_MCPServerTable: 1 not carried over: \S+ mcp-servers adds MCP servers/,
    ]) {
      assert.match(stderr, wanted);
    }
    assert.doesNotMatch(stderr, /SpendLogs/);
  });

  test('without the salt key it says what is sealed, and a wrong address is a sentence', async (t) => {
    const cwd = temporaryFolder(t);
    const bare = await runCommand(['import', 'litellm', '--database', postgres.url], { cwd });
    assert.match(
      bare.stderr,
      /database LiteLLM_ProxyModelTable: some values cannot be decrypted; set LITELLM_SALT_KEY/,
    );
    assert.match(bare.stdout, /models 1,/, 'the one whose name is not sealed');
    const nowhere = await runCommand(['import', 'litellm', '--database', 'postgres://127.0.0.1:1/x'], { cwd });
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /The database at 127\.0\.0\.1:1 cannot be read: .*ECONNREFUSED/);
    const neither = await runCommand(['import', 'litellm'], { cwd });
    assert.equal(neither.code, 2);
    assert.match(neither.stderr, /Name the configuration of LiteLLM, its --database, or both/);
  });
});

const hashed = (secret: string) => hash('sha256', secret);
const by = { created_by: 'admin', updated_by: 'admin' };
const team = { members: [], admins: [] };

async function connected(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const put = (table: string, row: Record<string, unknown>) => {
    const names = Object.keys(row);
    const json = (value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : value;
    return client.query(
      `INSERT INTO "${table}" (${names.map((name) => `"${name}"`)}) VALUES (${names.map((_, i) => `$${i + 1}`)})`,
      Object.values(row).map(json),
    );
  };
  return { client, put };
}

/** An organization with two teams and a key of its own, a project, members with budgets and tags. */
async function fillOrganization(url: string): Promise<void> {
  const { client, put } = await connected(url);
  const budget = (id: string, row: Record<string, unknown>) =>
    put('LiteLLM_BudgetTable', { budget_id: id, ...row, ...by });
  await budget('of-acme', { max_budget: 80, budget_duration: '30d', rpm_limit: 100, soft_budget: 60 });
  await budget('of-members', { max_budget: 2, budget_duration: '7d', rpm_limit: 9 });
  await budget('of-bob', { rpm_limit: 3, allowed_models: ['cheap', 'smart'] });
  await budget('of-project', { tpm_limit: 50, max_budget: 1, budget_duration: '7d' });
  await budget('of-tag', { max_parallel_requests: 2, max_budget: 1, budget_duration: '5h' });
  const row = { organization_id: 'acme', organization_alias: 'Acme', budget_id: 'of-acme', models: ['smart', 'cheap'] };
  await put('LiteLLM_OrganizationTable', { ...row, ...by });
  const inAcme = { organization_id: 'acme', ...team };
  await put('LiteLLM_TeamTable', {
    team_id: 'sales',
    team_alias: 'Sales',
    models: ['cheap', 'open/*'],
    max_budget: 25,
    budget_duration: '7d',
    metadata: { team_member_budget_id: 'of-members' },
    ...inAcme,
  });
  await put('LiteLLM_TeamTable', { team_id: 'support', team_alias: 'Support', models: ['all-org-models'], ...inAcme });
  for (const [id, blocked] of [
    ['Helpdesk', false],
    ['Stopped', true],
  ] as const) {
    const models = ['smart'];
    await put('LiteLLM_ProjectTable', {
      project_id: id,
      project_alias: id,
      budget_id: 'of-project',
      models,
      blocked,
      ...by,
    });
  }
  await put('LiteLLM_UserTable', { user_id: 'bob', user_email: 'bob@example.com', max_budget: 1, models: [] });
  await put('LiteLLM_TeamMembership', { user_id: 'bob', team_id: 'sales', budget_id: 'of-bob' });
  await put('LiteLLM_TeamMembership', { user_id: 'carol', team_id: 'sales' });
  for (const name of ['nightly', 'unused'])
    await put('LiteLLM_TagTable', { tag_name: name, budget_id: 'of-tag', models: [] });
  await put('LiteLLM_EndUserTable', { user_id: 'customer', budget_id: 'of-tag', blocked: false });
  await put('LiteLLM_MCPServerTable', {
    server_id: 's',
    alias: 'tools',
    url: 'https://mcp.example',
    transport: 'http',
  });
  const at = { startTime: '2026-01-01', endTime: '2026-01-01' };
  await put('LiteLLM_SpendLogs', { request_id: 'r', call_type: 'acompletion', ...at });
  const key = (secret: string, alias: string, more: Record<string, unknown>) =>
    put('LiteLLM_VerificationToken', { token: hashed(secret), key_alias: alias, models: [], ...more });
  await key(secrets.bob, 'bob', { team_id: 'sales', user_id: 'bob', created_at: '2026-02-01' });
  await key(secrets.bobAgain, 'bob', { team_id: 'sales', user_id: 'bob', created_at: '2026-02-02' });
  const ofHelpdesk = { team_id: 'support', project_id: 'Helpdesk', metadata: { tags: ['nightly'] } };
  await key(secrets.app, 'app', ofHelpdesk);
  await key(secrets.wide, 'wide', { organization_id: 'acme' });
  await key('sk-halted', 'halted', { team_id: 'support', project_id: 'Stopped' });
  const active = { active_token_id: hashed(secrets.app) };
  const before = { id: 'd1', token: hashed(secrets.appBefore), revoke_at: '2098-01-01T00:00:00' };
  await put('LiteLLM_DeprecatedVerificationToken', { ...before, ...active });
  const gone = { id: 'd2', token: hashed('sk-gone'), revoke_at: '2020-01-01T00:00:00' };
  await put('LiteLLM_DeprecatedVerificationToken', { ...gone, ...active });
  await client.end();
}

async function fill(url: string, base: string): Promise<void> {
  const { client, put } = await connected(url);
  for (const folder of readdirSync(migrations).toSorted()) {
    const file = join(migrations, folder, 'migration.sql');
    if (existsSync(file)) await client.query(readFileSync(file, 'utf8'));
  }
  let second = 10;
  const next = () => {
    second += 1;
    return `2026-01-01T00:00:${second}`;
  };
  const model = (name: string, params: object, info: object = {}) =>
    put('LiteLLM_ProxyModelTable', {
      model_id: name,
      model_name: name,
      litellm_params: { api_base: base, ...params },
      model_info: info,
      created_at: next(),
      ...by,
    });
  await model('smart', { model: sealed.model, api_key: sealed.key });
  await model('cheap', { model: sealed.model, api_key: sealed.gcmKey }, { access_groups: ['savers'] });
  await put('LiteLLM_CredentialsTable', {
    credential_id: 'c1',
    credential_name: 'shared',
    credential_values: { api_key: sealed.credential, api_base: base },
    ...by,
  });
  await model('open/*', { model: 'openai/mock/*', litellm_credential_name: 'shared' });
  await put('LiteLLM_Config', { param_name: 'router_settings', param_value: { num_retries: 3 } });
  await put('LiteLLM_Config', { param_name: 'environment_variables', param_value: { A: 'sealed' } });
  await put('LiteLLM_TeamTable', {
    team_id: 't1',
    team_alias: 'Research',
    max_budget: 50,
    budget_duration: '30d',
    tpm_limit: 100_000,
    rpm_limit: 600,
    max_parallel_requests: 8,
    models: ['smart', 'savers', 'open/*'],
    created_at: '2026-01-01',
    ...team,
  });
  await put('LiteLLM_TeamTable', { team_id: 't2', team_alias: 'Gone', blocked: true, models: [], ...team });
  await put('LiteLLM_UserTable', {
    user_id: 'u1',
    user_email: 'alice@example.com',
    max_budget: 10,
    budget_duration: '1d',
    models: [],
  });
  await put('LiteLLM_BudgetTable', {
    budget_id: 'b1',
    ...by,
    tpm_limit: 7,
    max_budget: 9,
    budget_duration: '1mo',
    soft_budget: 5,
  });
  const key = (token: string, row: Record<string, unknown>) =>
    put('LiteLLM_VerificationToken', { token, models: [], created_at: next(), ...row });
  await key(hashed(secrets.laptop), { key_alias: 'laptop', team_id: 't1', models: ['smart'], rpm_limit: 1 });
  await key(hashed(secrets.ci), {
    key_alias: 'ci',
    models: ['smart'],
    budget_id: 'b1',
    expires: '2099-01-01T00:00:00',
    budget_limits: JSON.stringify([{ budget_duration: '1h', max_budget: 1 }]),
    model_max_budget: { smart: { budget_limit: 1, time_period: '1d' } },
  });
  await key(hashed(secrets.alice), { key_name: 'sk-...0003', user_id: 'u1' });
  await key(hashed(secrets.late), { key_alias: 'late', team_id: 't2' });
  await key(hashed(secrets.blocked), { key_alias: 'blocked', team_id: 't1', blocked: true });
  await key('in-clear', { key_alias: 'odd', team_id: 't1' });
  await key(hashed('sk-old'), { key_alias: 'old', expires: '2020-01-01T00:00:00' });
  await key(hashed('sk-login'), { team_id: 'litellm-dashboard', user_id: 'u1' });
  await client.end();
}
