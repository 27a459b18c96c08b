import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { testKey } from '../start-gateway.ts';
import { startNginx } from '../start-nginx.ts';
import type { Lifetime } from '../start-process.ts';
import type { GatewayProcess } from './gateway-process.ts';

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
  const nginx = await startNginx(
    t,
    'trial.conf',
    replicas.map(({ url }) => url),
  );
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
