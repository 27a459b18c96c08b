import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { missingTool } from '../sound.ts';
import { culvertBin, temporaryFolder } from '../start-process.ts';
import { openTerminal, type Terminal } from '../terminal.ts';
import { until } from '../until.ts';

const culvert = `'${process.execPath}' '${culvertBin}' start --port 0`;

interface Serving {
  cwd: string;
  terminal: Terminal;
  url: string;
  runs(): boolean;
}

/** Serves in a terminal, by a line of sh. */
async function servingIn(t: TestContext, line: string): Promise<Serving> {
  const cwd = temporaryFolder(t);
  const terminal = openTerminal(t, line, { cwd, columns: 80 });
  const data = join(cwd, '.culvert');
  await until('it comes about', () => existsSync(join(data, 'api.key')));
  const { pid, url } = JSON.parse(readFileSync(join(data, 'lock'), 'utf8')) as { pid: number; url: string };
  const runs = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  t.after(() => {
    if (runs()) process.kill(pid, 'SIGKILL');
  });
  return { cwd, terminal, url, runs };
}

describe('a terminal that closes', { skip: missingTool('script', 'stty', 'nohup'), concurrency: true }, () => {
  test('it ends the gateway as SIGTERM does', async (t) => {
    const { cwd, terminal, runs } = await servingIn(t, culvert);
    terminal.hangUp();
    await until('it comes about', () => !runs());
    assert.equal(existsSync(join(cwd, '.culvert', 'lock')), false, 'it gave the data folder back');
  });

  test('under nohup the gateway serves on, as a reload is no end', async (t) => {
    const { cwd, terminal, url, runs } = await servingIn(t, `nohup ${culvert}`);
    terminal.hangUp();
    await until('it comes about', () =>
      readFileSync(join(cwd, 'nohup.out'), 'utf8').includes('configuration reloaded (SIGHUP)'),
    );
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    assert.ok(runs());
  });
});
