import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GivenObject, ProviderObjectStore } from '../../../books/auth/provider-object-store.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import { ProviderObjects } from './provider-objects.ts';

const clock: Clock = { wallMs: () => 1_000, monotonicMs: () => 0 };
const dayMs = 86_400_000;
const snapshots = { current: { config: { storage: { provider_objects: 365 * dayMs } } } };
const target = { id: 'oa/gpt', provider: 'oa', credentials: [{ id: 'oa#0', weight: 1, rpm: null }] };
const candidates = [{ target, rank: 0 }] as unknown as readonly RouteCandidate[];
const attempt = { target, credential: target.credentials[0] } as unknown as Parameters<ProviderObjects['give']>[1];

/** A store that can be away, and whose rows another process may write. */
function memoryStore(lookAgainAfterMs: number | null) {
  const rows: GivenObject[] = [];
  const state = { away: false, gives: 0, rows };
  const store: ProviderObjectStore = {
    lookAgainAfterMs,
    async give(objects) {
      state.gives++;
      if (state.away) throw new Error('away');
      rows.push(...objects);
    },
    find: async (hashes) => rows.filter(({ idHash }) => hashes.includes(idHash)),
    trim: async () => 0,
    sweep: async () => 0,
    close: async () => {},
  };
  return Object.assign(state, { store });
}

const asked = (tenant: string, id: string, use: 'reference' | 'label' = 'reference') => ({
  tenant,
  model: 'gpt',
  named: [{ id, field: 'previous_response_id', use }],
  candidates,
  providers: new Map(),
});

test('ids that a database which is away cannot take are its tenant’s all the same, and are written once it is back', async () => {
  const memory = memoryStore(null);
  const troubles: string[] = [];
  const waits: (() => void)[] = [];
  const objects = new ProviderObjects({
    open: async () => memory.store,
    clock,
    snapshots,
    onTrouble: (message) => void troubles.push(message),
    pause: () => new Promise<void>((resolve) => waits.push(resolve)),
  });
  memory.away = true;
  for (let i = 0; i < 50; i++) {
    objects.give('a/x', attempt, [`resp_${i}`]);
    await nextTurn();
  }
  assert.equal(memory.gives, 1, 'one try, then a rest');
  assert.equal(troubles.length, 1);
  assert.equal((await objects.bind(asked('a/x', 'resp_7'))).kind, 'bound');
  assert.equal((await objects.bind(asked('b/x', 'resp_7'))).kind, 'not-found');
  memory.away = false;
  for (const wake of waits.splice(0)) wake();
  await nextTurn();
  assert.equal(memory.rows.length, 50);
  assert.equal(waits.length, 0);
  await objects.close();
});

test('what another process is about to write is looked for again, unless it is only a label', async () => {
  const memory = memoryStore(150);
  const other = new ProviderObjects({ open: async () => memory.store, clock, snapshots, onTrouble: assert.fail });
  let waited = 0;
  const objects = new ProviderObjects({
    open: async () => memory.store,
    clock,
    snapshots,
    onTrouble: assert.fail,
    async pause(ms) {
      assert.equal(ms, 150);
      waited++;
      if (waited === 1) other.give('a/x', attempt, ['resp_1']);
      await nextTurn();
    },
  });
  assert.equal((await objects.bind(asked('a/x', 'resp_1'))).kind, 'bound');
  assert.equal((await objects.bind(asked('a/x', 'resp_2'))).kind, 'not-found');
  assert.equal((await objects.bind(asked('a/x', 'msg_2', 'label'))).kind, 'bound');
  assert.equal(waited, 2);
});

test('S25 what waits is bounded, and a flood of one tenant’s takes nobody else’s', async () => {
  const memory = memoryStore(null);
  memory.away = true;
  const objects = new ProviderObjects({
    open: async () => memory.store,
    clock,
    snapshots,
    onTrouble: () => {},
    pause: () => new Promise(() => {}),
  });
  objects.give('a/x', attempt, ['resp_a']);
  for (let i = 0; i < 20_100; i++) objects.give('b/x', attempt, [`resp_${i}`]);
  await nextTurn();
  assert.equal((await objects.bind(asked('a/x', 'resp_a'))).kind, 'bound');
  assert.equal((await objects.bind(asked('b/x', 'resp_99'))).kind, 'not-found');
  assert.equal((await objects.bind(asked('b/x', 'resp_20099'))).kind, 'bound');
});

test('S25 thousands of made-up ids cost the database no more than some, and others have turns between', async () => {
  const memory = memoryStore(150);
  const looks: number[] = [];
  const { find } = memory.store;
  memory.store.find = (hashes, nowMs) => {
    looks.push(hashes.length);
    return find(hashes, nowMs);
  };
  const objects = new ProviderObjects({
    open: async () => memory.store,
    clock,
    snapshots,
    onTrouble: assert.fail,
    pause: async () => {},
  });
  const many = (use: 'reference' | 'label') => ({
    ...asked('b/x', ''),
    named: Array.from({ length: 4_000 }, (_, i) => ({ id: `msg_${i}`, field: `input[${i}].id`, use })),
  });
  assert.equal((await objects.bind(many('reference'))).kind, 'not-found');
  assert.deepEqual(looks, [128, 128], 'the first ones, and again for a replica that may be writing');
  looks.length = 0;
  let turns = 0;
  const bound = objects.bind(many('label'));
  const others = async () => {
    for (;;) {
      if ((await Promise.race([bound, nextTurn('others')])) !== 'others') return;
      turns++;
    }
  };
  await others();
  assert.equal((await bound).kind, 'bound');
  assert.equal(looks.length, 32);
  assert.ok(turns >= 30, `others had ${turns} turns`);
});

test('objects that a provider keeps until they are deleted stay as long as they are used, others for 30 days', async () => {
  const memory = memoryStore(null);
  memory.store.find = async (hashes, nowMs) => {
    const newest = new Map(memory.rows.map((row) => [`${row.idHash} ${row.tenant}`, row]));
    return [...newest.values()].filter(({ idHash, expiresMs }) => hashes.includes(idHash) && expiresMs > nowMs);
  };
  let day = 0;
  const moving: Clock = { wallMs: () => day * dayMs, monotonicMs: () => 0 };
  const parts = { open: async () => memory.store, clock: moving, snapshots, onTrouble: assert.fail };
  const objects = new ProviderObjects(parts);
  await objects.ready();
  const lasting = ['file-1', 'file_1', 'ftjob-1', 'ft:gpt-5-mini:org::1', 'eval_1', 'skill_1', 'conv_1', 'vs_1'];
  objects.give('a/x', attempt, ['resp_1', 'cntr_1', ...lasting]);
  const known = async (id: string) => (await objects.homeOf('a/x', id)) !== null;
  const written = memory.rows.length;
  day = 29;
  assert.deepEqual([await known('resp_1'), await known('cntr_1')], [true, true]);
  day = 31;
  assert.deepEqual([await known('resp_1'), await known('cntr_1')], [false, false]);
  day = 182;
  for (const id of lasting) assert.equal(await known(id), true, id);
  assert.equal(memory.rows.length, written, 'a use in the first half of the time writes nothing');
  for (day = 200; day < 1_500; day += 200) {
    assert.equal(await known('file-1'), true, `day ${day}`);
    assert.equal((await objects.bind(asked('a/x', 'ftjob-1'))).kind, 'bound', `day ${day}`);
  }
  assert.equal(await known('eval_1'), false, 'nobody used it for a year');
  objects.forget('a/x', attempt, 'file-1');
  assert.equal(await known('file-1'), false, 'its tenant deleted it');
  assert.equal((await objects.bind(asked('a/x', 'file-1'))).kind, 'not-found');
  assert.equal(await known('ftjob-1'), true);
  await objects.close();
});
