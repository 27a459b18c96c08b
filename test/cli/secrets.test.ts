// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the configuration
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { startForwardProxy } from '../forward-proxy.ts';
import { adminKey } from '../start-gateway.ts';
import { launch, runCommand, startProcess, temporaryFolder } from '../start-process.ts';
import { startSecretManagers } from '../start-secret-managers.ts';
import { startUpstream } from '../start-upstream.ts';

/* Credentials that secret managers keep: `${vault:…}`, `${aws:…}`, `${gcp:…}`, `${azure:…}`. */

const upstream = await startUpstream();
after(() => upstream.close());
const managers = await startSecretManagers({ after });
const { secrets } = managers;

const file = (references: Record<string, string>) =>
  [
    'providers:',
    ...Object.entries(references).map(
      ([name, reference]) => `  ${name}: { type: openai, base_url: "${upstream.url}/v1", api_key: ${reference} }`,
    ),
    'models:',
    ...Object.keys(references).map((name) => `  ${name}-model: { targets: [${name}/mock/ok] }`),
    `admin: { key: ${adminKey} }`,
    'keys: [{ key: sk-cv-a-test-key-0001, account: a, name: n }]',
    '',
  ].join('\n');

const accountFile = join(temporaryFolder({ after }), 'account.json');
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
writeFileSync(
  accountFile,
  JSON.stringify({
    type: 'service_account',
    project_id: 'my-project',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'culvert@my-project.iam.example',
  }),
);
const env = { ...managers.env, GOOGLE_APPLICATION_CREDENTIALS: accountFile };

beforeEach(() => {
  secrets.clear();
  managers.reads.clear();
  managers.logins = 0;
  upstream.clear();
});

async function chat(url: string, model: string): Promise<number> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-cv-a-test-key-0001', 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  });
  await answer.text();
  return answer.status;
}

const sentKeys = () =>
  upstream.requests().flatMap(({ path, headers }) => (path.includes('chat') ? [headers.authorization] : []));

test('a provider is asked with the key that its secret manager has, and with a new one after a reload', async (t) => {
  secrets.set('vault:secret/data/openai', {
    data: { data: { api_key: 'of-vault', other: 'x' }, metadata: { version: 1 } },
  });
  secrets.set('vault:kv/old', { data: { only: 'of-first-version' }, lease_duration: 2_764_800, lease_id: '' });
  secrets.set('aws:prod/openai', { key: 'of-aws' });
  secrets.set('gcp:projects/my-project/secrets/openai', 'of-google\n');
  secrets.set('azure:openai', 'of-azure');
  const folder = temporaryFolder(t);
  const references = {
    va: '${vault:secret/data/openai#api_key}',
    vb: '"${vault:kv/old}"',
    aw: '${aws:prod/openai#key}',
    gc: '${gcp:openai}',
    az: '${azure:openai}',
  };
  writeFileSync(join(folder, 'culvert.yaml'), file(references));
  const started = await startProcess(t, { cwd: folder, env });
  for (const name of Object.keys(references)) assert.equal(await chat(started.url, `${name}-model`), 200, name);
  assert.deepEqual(
    sentKeys(),
    ['of-vault', 'of-first-version', 'of-aws', 'of-google', 'of-azure'].map((key) => `Bearer ${key}`),
  );
  assert.equal(managers.logins, 2, 'one login at Vault, one at Entra ID');
  assert.doesNotMatch(started.stdout() + started.stderr(), /of-(vault|aws|google|azure)/);

  secrets.set('aws:prod/openai', { key: 'of-aws-rotated' });
  secrets.set('azure:openai', 503);
  // Read just now, they are not read again.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const reload = await fetch(`${started.url}/admin/v1/config/reload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: '{}',
  });
  assert.equal(reload.status, 200, await reload.text());
  upstream.clear();
  assert.equal(await chat(started.url, 'aw-model'), 200);
  assert.equal(await chat(started.url, 'az-model'), 200, 'its manager is away, so its last value stays');
  assert.deepEqual(sentKeys(), ['Bearer of-aws-rotated', 'Bearer of-azure']);
  assert.equal(managers.logins, 2, 'tokens that go on are used again');
});

test('a line end behind a secret, as `echo` makes it, is no part of it, as in a file', async (t) => {
  secrets.set('gcp:projects/my-project/secrets/team', 'red\r\n');
  const folder = temporaryFolder(t);
  const text = file({ a: 'k' }).replace('api_key: k', 'api_key: k, headers: { x-team: "${gcp:team}" }');
  writeFileSync(join(folder, 'culvert.yaml'), text);
  const { code, stdout, stderr } = await runCommand(['check'], { cwd: folder, env });
  assert.equal(code, 0, stdout + stderr);
});

test('a secret whose lease ends is read again before, without a reload by hand', async (t) => {
  const path = 'vault:database/creds/reader';
  secrets.set(path, { data: { password: 'first' }, lease_id: 'a', lease_duration: 6 });
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'culvert.yaml'), file({ va: '${vault:database/creds/reader#password}' }));
  const started = await startProcess(t, { cwd: folder, env });
  assert.equal(await chat(started.url, 'va-model'), 200);
  secrets.set(path, { data: { password: 'second' }, lease_id: 'b', lease_duration: 3_600 });
  await started.said(/configuration reloaded \(a secret changed\)/);
  assert.equal(await chat(started.url, 'va-model'), 200);
  assert.deepEqual(sentKeys(), ['Bearer first', 'Bearer second']);
});

test('what is wrong with a reference or its secret is said at its line, without the secret', async (t) => {
  secrets.set('vault:secret/data/two', { data: { data: { a: 'hidden-1', b: 'hidden-2' }, metadata: {} } });
  secrets.set('vault:secret/data/denied', 403);
  secrets.set('aws:plain', 'hidden-3');
  const cases: [reference: string, message: RegExp][] = [
    ['${vault:secret/two#a}', /no such secret; version 2 of its key-value engine needs secret\/data\/two/],
    ['${vault:secret/data/two}', /several members; write one after #: a, b/],
    ['${vault:secret/data/two#c}', /no member 'c'; it has a, b/],
    ['${vault:secret/data/denied#a}', /Vault answered 403: permission denied/],
    ['${vault:../sys/seal#a}', /not one of Vault's API/],
    ['${aws:plain#key}', /no JSON object, so it has no members/],
    ['${aws:absent}', /AWS Secrets Manager answered 404/],
    ['${gcp:a/b/c}', /not that of a secret/],
    ['${azure:-}', /Azure Key Vault answered 404/],
    ['${vault:#a}', /expected a secret and one of its members/],
  ];
  const folder = temporaryFolder(t);
  writeFileSync(
    join(folder, 'culvert.yaml'),
    file(Object.fromEntries(cases.map(([text], at) => [`p${at}`, `"${text}"`]))),
  );
  const { code, stdout, stderr } = await runCommand(['check'], { cwd: folder, env });
  assert.equal(code, 1);
  const lines = (stdout + stderr).split('\n');
  for (const [at, [reference, message]] of cases.entries()) {
    const line = lines.find((one) => one.startsWith(`culvert.yaml:${at + 2}:`)) ?? '';
    assert.match(line, message, `${reference}\n${lines.join('\n')}`);
  }
  assert.doesNotMatch(stdout + stderr, /hidden-/);
});

test('secrets of AWS and Azure are at the addresses of their clouds, where no variable names another', async (t) => {
  const proxy = await startForwardProxy(t, 9, 403);
  const folder = temporaryFolder(t);
  const references = {
    aw: '${aws:prod/openai}',
    cn: '${aws:arn:aws-cn:secretsmanager:cn-north-1:123456789012:secret:openai}',
    az: '${azure:my-vault/openai}',
    own: '${azure:my-vault.vault.azure.cn/openai}',
    gov: '${azure:my-vault.vault.usgovcloudapi.net/openai}',
  };
  writeFileSync(join(folder, 'culvert.yaml'), file(references));
  managers.scopes.clear();
  const clouds = { ...env, AWS_ENDPOINT_URL_SECRETS_MANAGER: '' };
  const { code } = await runCommand(['check'], { cwd: folder, env: { ...clouds, HTTPS_PROXY: `http://${proxy.url}` } });
  assert.equal(code, 1);
  assert.deepEqual([...new Set(proxy.orders)].toSorted(), [
    'CONNECT my-vault.vault.azure.cn:443 nobody',
    'CONNECT my-vault.vault.azure.net:443 nobody',
    'CONNECT my-vault.vault.usgovcloudapi.net:443 nobody',
    'CONNECT secretsmanager.cn-north-1.amazonaws.com.cn:443 nobody',
    'CONNECT secretsmanager.eu-central-1.amazonaws.com:443 nobody',
  ]);
  const scopes = ['azure.cn', 'azure.net', 'usgovcloudapi.net'].map((domain) => `https://vault.${domain}/.default`);
  assert.deepEqual([...managers.scopes].toSorted(), scopes);
});

test('in a pod Vault is logged in at with the token of its service account, once for all secrets', async (t) => {
  const names = ['openai', 'other'];
  for (const name of names)
    secrets.set(`vault:secret/data/${name}`, { data: { data: { api_key: 'of-vault' }, metadata: {} } });
  const folder = temporaryFolder(t);
  const references = names.map((name) => [name, `\${vault:secret/data/${name}#api_key}`]);
  writeFileSync(join(folder, 'culvert.yaml'), file(Object.fromEntries(references)));
  const tokenFile = join(folder, 'token');
  const pod = { VAULT_ADDR: managers.env.VAULT_ADDR!, VAULT_K8S_ROLE: 'culvert', VAULT_K8S_TOKEN_FILE: tokenFile };
  const check = () => runCommand(['check'], { cwd: folder, env: pod });
  const none = await check();
  assert.equal(none.code, 1);
  assert.match(none.stdout + none.stderr, /the token of the pod's service account cannot be read \(ENOENT\)/);
  writeFileSync(tokenFile, 'a-pod-token\n');
  const { code, stdout, stderr } = await check();
  assert.equal(code, 0, stdout + stderr);
  const reads = names.map((name) => managers.reads.get(`vault:secret/data/${name}`));
  assert.deepEqual([managers.logins, reads], [1, [1, 1]]);
});

test('without a login, or while the manager is away, a start says what to do', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'culvert.yaml'), file({ va: '${vault:secret/data/openai#api_key}' }));
  const noLogin = launch(t, ['start'], { cwd: folder, env: { VAULT_ADDR: managers.env.VAULT_ADDR!, HOME: folder } });
  assert.equal((await noLogin.exited).code, 1);
  assert.match(
    noLogin.stderr(),
    /culvert\.yaml:2:\d+ .*set VAULT_TOKEN, VAULT_ROLE_ID and VAULT_SECRET_ID, or VAULT_K8S_ROLE/,
  );
  const away = launch(t, ['start'], {
    cwd: folder,
    env: { VAULT_ADDR: 'http://127.0.0.1:1', VAULT_TOKEN: 'a-token-0001' },
  });
  assert.equal((await away.exited).code, 1);
  assert.match(away.stderr(), /the secret vault:secret\/data\/openai#api_key cannot be read: /);
  assert.doesNotMatch(away.stderr(), /a-token-0001/);
});
