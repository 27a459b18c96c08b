import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { closedPort, runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { braveSays, startEngine } from '../tools/start-engine.ts';

interface Report {
  ok: boolean;
  live: { credential: string; verdict: string; models: number; ms: number; message: string }[];
  search: { engine: string; verdict: string; hits: number; message: string }[];
  local: unknown[];
}

test('check --live tells each credential of each provider apart: ok, bad credential, unreachable', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/models bad-secret-canary', ['always status=401;echo-auth']);
  const cwd = temporaryFolder(t);
  const good = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'good-secret-canary' };
  const write = (providers: Record<string, unknown>) =>
    writeFileSync(join(cwd, 'culvert.yaml'), stringify({ providers }));
  write({
    good,
    half: {
      type: 'openai',
      base_url: `${upstream.url}/v1`,
      credentials: [{ api_key: 'good-secret-canary' }, { api_key: 'bad-secret-canary' }],
    },
    gone: { type: 'openai', base_url: `http://127.0.0.1:${await closedPort()}/v1`, api_key: 'gone-secret-canary' },
  });
  const failed = await runCommand(['check', '--live', '--json'], { cwd });
  assert.equal(failed.code, 1);
  const { ok, live } = JSON.parse(failed.stdout) as Report;
  assert.equal(ok, false);
  assert.deepEqual(
    live.map(({ credential, verdict, models }) => [credential, verdict, models]),
    [
      ['good#0', 'ok', 7],
      ['half#0', 'ok', 7],
      ['half#1', 'bad credential', 0],
      ['gone#0', 'unreachable', 0],
    ],
  );
  const text = await runCommand(['check', '--live'], { cwd });
  assert.match(text.stdout, /^half#1 +bad credential +\d+ ms/m);
  assert.doesNotMatch(failed.stdout + failed.stderr + text.stdout + text.stderr, /canary/);

  write({ good });
  const fine = await runCommand(['check', '--live'], { cwd });
  assert.equal(fine.code, 0, fine.stderr);
  assert.match(fine.stdout, /^good#0 +ok +\d+ ms +7$/m);
});

test('check --live asks every search engine one query: key accepted, SearXNG allowing JSON', async (t) => {
  const searxng = await startEngine(t, () => ({ status: 403, body: '<h1>Forbidden</h1>' }));
  const brave = await startEngine(t, () => braveSays('https://a.example/'));
  const exa = await startEngine(t, () => ({ status: 401, body: { error: 'exa-secret-canary is unknown' } }));
  const gone = await closedPort();
  const cwd = temporaryFolder(t);
  const providers = [
    { type: 'searxng', base_url: searxng.url },
    { type: 'brave', base_url: brave.url, api_key: 'brave-secret-canary' },
    { type: 'exa', base_url: exa.url, api_key: 'exa-secret-canary' },
    { type: 'serper', base_url: `http://127.0.0.1:${gone}`, api_key: 'serper-secret-canary' },
    { type: 'corpus' },
  ];
  writeFileSync(join(cwd, 'culvert.yaml'), stringify({ tools: { search: { providers } } }));
  const failed = await runCommand(['check', '--live', '--json'], { cwd });
  assert.equal(failed.code, 1);
  const { ok, search } = JSON.parse(failed.stdout) as Report;
  assert.equal(ok, false);
  assert.deepEqual(
    search.map(({ engine, verdict, hits }) => [engine, verdict, hits]),
    [
      ['searxng', 'failed', 0],
      ['brave', 'ok', 1],
      ['exa', 'bad credential', 0],
      ['serper', 'unreachable', 0],
    ],
  );
  assert.match(search[0]!.message, /search\.formats in its settings\.yml lacks json/);
  assert.deepEqual(
    [searxng, brave, exa].map(({ asked }) => asked.length),
    [1, 1, 1],
    'one query each, no more',
  );
  const text = await runCommand(['check', '--live'], { cwd });
  assert.match(text.stdout, /costs one search of its plan:\n/);
  assert.match(text.stdout, /^brave +ok +\d+ ms +1$/m);
  assert.doesNotMatch(failed.stdout + text.stdout + text.stderr, /canary/);
  const looked = await runCommand(['doctor', '--live'], { cwd });
  const { findings } = JSON.parse(looked.stdout) as { findings: { check: string; state: string; message: string }[] };
  const said = (check: string) => findings.find((finding) => finding.check === check)!;
  assert.match(said('search engine exa').message, /^bad credential/);
  assert.deepEqual([said('search engine exa').state, said('search engine brave').state], ['problem', 'ok']);
});
