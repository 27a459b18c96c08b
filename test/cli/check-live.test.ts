import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { closedPort, runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

interface Report {
  ok: boolean;
  live: { credential: string; verdict: string; models: number; ms: number; message: string }[];
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
