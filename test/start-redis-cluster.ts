import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { closedPort } from './start-process.ts';
import { type StartedRedis, startRedis } from './start-redis.ts';

const slots = 16_384;

export interface StartedCluster {
  /** For `storage.state`. */
  url: string;
  /** Primaries first, then their replicas in the same order. */
  nodes: readonly StartedRedis[];
  /** Gives a slot with all its keys to another primary, as `redis-cli --cluster reshard` does. */
  moveSlot(slot: number, from: number, to: number): void;
  /** Waits until every living node sees the cluster as whole. */
  settled(): Promise<void>;
}

/** A Redis Cluster on loopback, gone after the test, or (null) with this process. */
export async function startRedisCluster(
  t: Pick<TestContext, 'after'> | null,
  { primaries = 3, replicas = 0 }: { primaries?: number; replicas?: 0 | 1 } = {},
): Promise<StartedCluster> {
  const count = primaries * (1 + replicas);
  const busPorts: number[] = [];
  const nodes: StartedRedis[] = [];
  for (let at = 0; at < count; at++) {
    const busPort = await closedPort();
    const args = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-node-timeout', '1500'];
    busPorts.push(busPort);
    nodes.push(await startRedis(t, { args: [...args, '--cluster-replica-validity-factor', '0'] }));
  }
  const portOf = (at: number) => new URL(nodes[at]!.url).port;
  for (const [at, node] of nodes.entries()) {
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(at + 1));
    const first = (n: number) => Math.round((n * slots) / primaries);
    if (at < primaries) await node.ask('CLUSTER', 'ADDSLOTSRANGE', String(first(at)), String(first(at + 1) - 1));
    if (at > 0) await node.ask('CLUSTER', 'MEET', '127.0.0.1', portOf(0), String(busPorts[0]));
  }
  async function settled(): Promise<void> {
    const isWhole = async (node: StartedRedis) => {
      try {
        const info = await node.ask('CLUSTER', 'INFO');
        return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${count}`);
      } catch {
        return true;
      }
    };
    while (!(await Promise.all(nodes.map(isWhole))).every(Boolean)) await sleep(50);
  }
  await settled();
  for (let at = primaries; at < count; at++)
    await nodes[at]!.ask('CLUSTER', 'REPLICATE', await nodes[at - primaries]!.ask('CLUSTER', 'MYID'));
  for (const node of nodes.slice(primaries))
    while (!(await node.ask('INFO', 'replication')).includes('master_link_status:up')) await sleep(50);
  await settled();
  const idOf = (at: number) => nodes[at]!.cli('CLUSTER', 'MYID');
  return {
    url: `redis+cluster://127.0.0.1:${portOf(0)}?node=127.0.0.1:${portOf(1 % count)}`,
    nodes,
    settled,
    moveSlot(slot, from, to) {
      const set = (at: number, ...args: string[]) => nodes[at]!.cli('CLUSTER', 'SETSLOT', String(slot), ...args);
      set(to, 'IMPORTING', idOf(from));
      set(from, 'MIGRATING', idOf(to));
      const keys = nodes[from]!.cli('CLUSTER', 'GETKEYSINSLOT', String(slot), '10000').split('\n').filter(Boolean);
      if (keys.length > 0) nodes[from]!.cli('MIGRATE', '127.0.0.1', portOf(to), '', '0', '5000', 'KEYS', ...keys);
      set(to, 'NODE', idOf(to));
      for (const at of nodes.keys()) if (at !== to) set(at, 'NODE', idOf(to));
    },
  };
}
