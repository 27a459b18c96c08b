import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { closedPort, runCommand, startProcess, temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';

test('doctor asks the server that --url names about itself, and does not look at this machine', async (t) => {
  const gateway = await startGateway(t);
  const cwd = temporaryFolder(t);
  const run = (...args: string[]) => runCommand(['doctor', ...args], { cwd, env: { CULVERT_ADMIN_KEY: adminKey } });
  const { stdout, stderr } = await run('--url', gateway.url, '--json');
  const { findings } = JSON.parse(stdout) as { findings: { check: string; message: string }[] };
  assert.ok(
    findings.some(({ message }) => message === `answers at ${gateway.url}`),
    stderr,
  );
  assert.ok(findings.some(({ check }) => check === 'ledger'));
  assert.ok(!stdout.includes(cwd), 'the data folder is that of the server');
  const live = await run('--url', gateway.url, '--live');
  assert.equal(live.code, 2);
  assert.match(live.stderr, /Run it there/);
});

test('the list of providers says why one is down', async (t) => {
  const gone = { type: 'openai', base_url: `http://127.0.0.1:${await closedPort()}/v1`, api_key: 'k' };
  const gateway = await startGateway(t, { providers: { gone }, models: { smart: { targets: ['gone/m'] } } });
  const json = { model: 'smart', messages: [{ role: 'user', content: 'Hi' }] };
  const env = { CULVERT_URL: gateway.url, CULVERT_ADMIN_KEY: adminKey };
  const cwd = temporaryFolder(t);
  // A command of a busy machine may come when it is tried again.
  await until('it is shown as down', async () => {
    for (let tries = 0; tries < 3; tries += 1) await (await gateway.fetch('/v1/chat/completions', { json })).text();
    const { stdout } = await runCommand(['providers', 'list'], { cwd, env, columns: 120 });
    return /^gone +openai +file +down .*unreachable/m.test(stdout);
  });
});

test('next to a server over PostgreSQL, doctor reports the providers that are stored there', {
  skip: postgresMissing,
}, async (t) => {
  const { newDatabase } = await startPostgres(t);
  const cwd = temporaryFolder(t);
  const storage = { database: newDatabase() };
  writeFileSync(join(cwd, 'culvert.yaml'), JSON.stringify({ server: { port: 0 }, storage, autodetect: 'off' }));
  const checks = async () => {
    const { stdout } = await runCommand(['doctor', '--json'], { cwd });
    const { findings } = JSON.parse(stdout) as { findings: { check: string; message: string }[] };
    return findings.map(({ check, message }) => `${check}: ${message}`);
  };
  const alone = 'providers: none is configured; a server reads those of the database';
  assert.ok((await checks()).includes(alone));
  await startProcess(t, { cwd });
  const box = ['--type', 'openai', '--base-url', `http://127.0.0.1:${await closedPort()}/v1`, '--untested'];
  assert.equal((await runCommand(['providers', 'add', 'box', ...box], { cwd })).code, 0);
  const seen = await checks();
  assert.ok(
    seen.some((one) => one.startsWith('provider box: ')),
    seen.join('\n'),
  );
  assert.ok(!seen.includes(alone));
  assert.equal(new Set(seen).size, seen.length);
});
