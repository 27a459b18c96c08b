import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { closedPort } from './dead-places.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';

const skip = spawnSync('nginx', ['-v']).status === 0 ? false : 'nginx is not installed (npm run setup:test-tools)';
const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] });
const callers = 24;
/** Restarts of each replica. */
const rounds = Number(process.env.CULVERT_RUNS ?? 2);

test('F67 replicas behind the nginx of deploy/, which asks nobody how they are, are restarted in turn: no request is lost', {
  skip,
}, async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = overUpstreams(upstream.url);
  const replicas: GatewayProcess[] = [await startGatewayProcess(t, config), await startGatewayProcess(t, config)];
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
      replicas[i] = await startGatewayProcess(t, config, { at: replica.url });
      // nginx leaves one that refused it alone for a second.
      await after(1_200);
    }
  }
  loading = false;
  await load;
  t.diagnostic(`${served} requests, ${lost.length} lost`);
  assert.deepEqual(lost, [], readFileSync(nginx.log, 'utf8').replaceAll(/^.*(?=Connection refused).*$/gm, ''));
});

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
async function startNginx(t: TestContext, urls: readonly [string, string]): Promise<{ port: number; log: string }> {
  const folder = temporaryFolder(t);
  const port = Number(new URL(await closedPort()).port);
  const [one, two] = urls.map((url) => new URL(url).port) as [string, string];
  const file = join(folder, 'nginx.conf');
  const text = readFileSync(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8')
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
