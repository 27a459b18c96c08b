import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterFindings, type ProcessRow } from '../../src/admin/cluster.ts';
import type { ProcessFacts, SeenProcess } from '../../src/books/metering/replicas.ts';
import { openAdmin } from './open-admin.ts';

const facts: ProcessFacts = {
  replica: 'r1',
  worker: null,
  host: 'one',
  pid: 10,
  version: '1.2.0',
  startedMs: 0,
  configuration: 'aaaa',
  state: 'serving',
  requests: 3,
  busy: 0.25,
  loopDelayMs: 1.5,
  memoryBytes: 1_000,
};

test('processes are listed with their states, and what few of them run stands out', async (t) => {
  const admin = await openAdmin(t);
  const nowMs = admin.clock.wallMs();
  const seen = (id: string, more: Partial<ProcessFacts> | null, rest: Partial<SeenProcess> = {}): SeenProcess => ({
    id,
    facts: more === null ? null : { ...facts, ...more },
    seenMs: nowMs,
    over: false,
    ...rest,
  });
  const all = [
    seen('c', { host: 'two', version: '1.1.0' }),
    seen('b', { worker: 10, state: 'draining' }),
    seen('a', { worker: 2 }),
    seen('d', { host: 'three', configuration: 'bbbb' }, { seenMs: nowMs - 16_000 }),
    seen('e', { host: 'four', version: '1.0.0' }, { over: true }),
    seen('f', null),
  ];
  admin.setProcesses(all);
  const { data } = (await admin.ok('GET', '/cluster')) as { data: ProcessRow[] };
  const shown = data.map(({ id, state, differs }) => [id, state, ...differs]);
  assert.deepEqual(shown, [
    ['f', 'unknown'],
    ['e', 'gone'],
    ['a', 'serving'],
    ['b', 'draining'],
    ['d', 'silent', 'configuration'],
    ['c', 'serving', 'version'],
  ]);
  assert.equal(data[2]?.started_at, '1970-01-01T00:00:00.000Z');

  const first = await admin.ok('GET', '/cluster?limit=4');
  const rest = await admin.ok('GET', `/cluster?limit=4&cursor=${first.next_cursor}`);
  assert.deepEqual([first.data.length, rest.data.length, rest.next_cursor], [4, 2, null]);
  assert.deepEqual(await admin.refused('GET', '/cluster?limit=0'), [
    400,
    'limit',
    'limit: expected a whole number from 1 to 1000',
  ]);
  const billing = { name: 'Finance', role: 'billing', accounts: null } as const;
  assert.equal((await admin.call('GET', '/cluster', undefined, billing)).status, 403);

  const findings = clusterFindings(all, nowMs).map(({ message }) => message);
  assert.deepEqual(findings, [
    'These replicas run another version than the others: two (pid 10, 1.1.0). See culvert cluster.',
    'These replicas have another configuration than the others: three (pid 10). See culvert cluster.',
  ]);
  assert.deepEqual(clusterFindings([seen('a', {}), seen('b', {}), seen('c', null)], nowMs), []);

  const died = (id: string, worker: number, replica = 'r1') => seen(id, { worker, replica }, { over: true });
  const serves = seen('a', { worker: 1 });
  const ofDead = clusterFindings([serves, died('b', 2), died('c', 1), died('d', 2), died('e', 1, 'ended')], nowMs);
  assert.deepEqual(
    ofDead.map(({ check, state, message }) => [check, state, message]),
    [
      [
        'workers',
        'warning',
        'Workers died within the last ten minutes: 2 of one (2 times), 1 of one. See culvert cluster.',
      ],
    ],
  );
});
