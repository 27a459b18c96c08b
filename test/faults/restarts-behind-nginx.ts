import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { testKey } from '../start-gateway.ts';
import { type Lifetime, temporaryFolder } from '../start-process.ts';
import { closedPlace } from './dead-places.ts';
import type { GatewayProcess } from './gateway-process.ts';

export const nginxMissing: string | false =
  spawnSync('nginx', ['-v']).status === 0 ? false : 'nginx is not installed (npm run setup:test-tools)';

const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] });
const callers = 24;

export interface RestartsSeen {
  served: number;
  /** The status or the error of each chat that was not answered. */
  lost: string[];
  /** Of nginx's errors. */
  log: string;
}

/** Two replicas behind the nginx of deploy/ are restarted in turn, each `rounds` times, while chats come. */
export async function restartsBehindNginx(
  t: Lifetime,
  start: (at: string | null) => Promise<GatewayProcess>,
  rounds: number,
): Promise<RestartsSeen> {
  const replicas: GatewayProcess[] = [await start(null), await start(null)];
  const nginx = await startNginx(t, replicas.map(({ url }) => url) as [string, string]);
  const lost: string[] = [];
  let served = 0;
  let loading = true;
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const call = async () => {
    while (loading) {
      const seen = await ask(agent, nginx.port);
      served += 1;
      if (seen !== '200') lost.push(seen);
    }
  };
  const load = Promise.all(Array.from({ length: callers }, call));
  for (let round = 0; round < rounds; round++) {
    for (const [i, replica] of replicas.entries()) {
      await after(200);
      const ended = once(replica.process, 'exit');
      replica.process.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null]);
      replicas[i] = await start(replica.url);
      // nginx leaves one that refused it alone for a second.
      await after(1_200);
    }
  }
  loading = false;
  await load;
  return { served, lost, log: nginx.log };
}

function ask(agent: Agent, port: number): Promise<string> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${testKey}`,
      'content-type': 'application/json',
      'content-length': body.length,
    };
    const sent = request(
      { agent, port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions', headers },
      (response) => {
        response.resume();
        response.once('end', () => resolve(String(response.statusCode)));
        response.once('error', (error) => resolve(String(error)));
      },
    );
    sent.once('error', (error) => resolve(String(error)));
    sent.end(body);
  });
}

/** With the file that deploy/ has, in front of these two. */
async function startNginx(t: Lifetime, urls: readonly [string, string]): Promise<{ port: number; log: string }> {
  const folder = temporaryFolder(t);
  const port = Number(new URL(await closedPlace()).port);
  const [one, two] = urls.map((url) => new URL(url).port) as [string, string];
  const file = join(folder, 'nginx.conf');
  const ours = new URL('../../deploy/nginx/', import.meta.url);
  const text = readFileSync(new URL('trial.conf', ours), 'utf8')
    .replaceAll('LOCATION', fileURLToPath(new URL('location.conf', ours)))
    .replaceAll('FOLDER', folder)
    .replaceAll('REPLICA_1', one)
    .replaceAll('REPLICA_2', two)
    .replaceAll('PORT', String(port));
  writeFileSync(file, text);
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(folder, name));
  const nginx = spawn('nginx', ['-c', file, '-p', folder], { stdio: 'ignore' });
  t.after(async () => {
    const ended = once(nginx, 'exit');
    nginx.kill('SIGTERM');
    await ended;
  });
  for (let tries = 0; (await ask(new Agent(), port)) !== '200'; tries++) {
    assert.ok(tries < 100, 'nginx serves');
    await after(50);
  }
  return { port, log: join(folder, 'nginx-error.log') };
}
