import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurns, type Turn, type TurnsOptions } from './turns.ts';

const options: TurnsOptions = { name: 'Things', places: 1, waitingMax: 100 };

/** Takes places and notes in which order they come. */
function world(parts: Partial<TurnsOptions>) {
  const turns = createTurns({ ...options, ...parts });
  const order: string[] = [];
  const held = new Map<string, Turn>();
  const ask = (name: string, signal: AbortSignal | null = null, bytes = 0) =>
    turns.take(name[0]!, signal, bytes).then((turn) => {
      order.push(name);
      held.set(name, turn);
    });
  const end = async (name: string) => {
    held.get(name)!.giveBack();
    await settled();
  };
  return { turns, order, ask, end };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('S30 a place goes round the tenants that wait, and within one to who came first', async () => {
  const { order, ask, end } = world({});
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void ask(name);
  await settled();
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2']) await end(name);
  assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('S30 one tenant never holds all places, and one alone holds the only one', async () => {
  const { order, ask, end } = world({ places: 3 });
  for (const name of ['a1', 'a2', 'a3']) void ask(name);
  await settled();
  assert.deepEqual(order, ['a1', 'a2']);
  await ask('b1');
  void ask('b2');
  await end('a1');
  // Those who hold one leave the last to who comes.
  assert.deepEqual(order, ['a1', 'a2', 'b1']);
  await ask('c1');
  await end('c1');
  await end('b1');
  assert.deepEqual(order, ['a1', 'a2', 'b1', 'c1', 'b2']);
});

test('S30 however many tenants hold what they can, a place is there for who comes next', async () => {
  const { turns, order, ask, end } = world({ places: 64, waitingMax: 10_000 });
  const tenants = [...'abcdefgh'];
  for (const tenant of tenants) for (let nth = 0; nth < 200; nth += 1) void ask(`${tenant}${nth}`);
  await settled();
  assert.equal(
    order.findLastIndex((name) => name[0] === 'a'),
    47,
    'alone it has three quarters',
  );
  // All that began when there was more for each.
  for (let ended = 0; ended < 64; ended += 1) await end(order[ended]!);
  for (let ended = 64; ended < 256; ended += 1) {
    assert.ok(turns.hasPlace('next'), `${ended} have ended`);
    const held = order.slice(ended).map((name) => name[0]);
    for (const tenant of tenants) assert.ok(held.filter((one) => one === tenant).length >= 6, `${tenant}: ${held}`);
    await end(order[ended]!);
  }
});

test('S30 who comes back at once does not overtake who waits', async () => {
  const { order, ask, end } = world({});
  for (const name of ['b1', 'a1', 'a2']) void ask(name);
  await settled();
  await end('b1');
  void ask('b2');
  await end('a1');
  await end('b2');
  assert.deepEqual(order, ['b1', 'a1', 'b2', 'a2']);
});

test('S30 a full line of one tenant refuses that one, and says whose it is; a full line of all refuses all', async () => {
  const { ask } = world({ waitingMax: 4 });
  await ask('a');
  for (const name of ['a', 'a']) void ask(name);
  const failure = (message: RegExp) => (error: { failure?: { kind: string; message: string } }) => {
    assert.equal(error.failure?.kind, 'overloaded');
    assert.match(error.failure.message, message);
    return true;
  };
  await assert.rejects(ask('a'), failure(/^Things: 3 of this key are running or waiting/));
  for (const name of ['b', 'c']) void ask(name);
  await assert.rejects(ask('d'), failure(/^Things: 5 of all callers are running or waiting/));
});

test('S30 bytes that wait are bounded, of one tenant by half; what is larger waits alone', async () => {
  const { ask } = world({ waitingBytesMax: 100 });
  await ask('a');
  void ask('a', null, 90);
  await assert.rejects(ask('a', null, 1), { message: /^overloaded/ });
  await assert.rejects(ask('b', null, 20), { message: /^overloaded/ });
  void ask('b', null, 10);
});

test('who leaves the line gets nothing, and a place given back twice counts once', async () => {
  const { turns, order, ask, end } = world({});
  const leaving = new AbortController();
  await ask('a1');
  const left = ask('a2', leaving.signal);
  void ask('a3');
  void ask('a4');
  leaving.abort();
  await assert.rejects(left, { name: 'AbortError' });
  await assert.rejects(ask('a5', leaving.signal), { name: 'AbortError' });
  await end('a1');
  await end('a1');
  assert.deepEqual(order, ['a1', 'a3']);
  assert.equal(turns.idle(), false);
  await end('a3');
  await end('a4');
  assert.equal(turns.idle(), true);
});

test('places may grow, and all that wait may be refused', async () => {
  let places = 1;
  const { turns, order, ask } = world({ places: () => places, tenantPlaces: 9 });
  await ask('a1');
  const mine = ask('a2');
  void ask('b1');
  places = 2;
  turns.look();
  await settled();
  assert.deepEqual(order, ['a1', 'b1']);
  const waits = ask('c1');
  turns.refuseWaiting(new Error('over'));
  await assert.rejects(mine, /over/);
  await assert.rejects(waits, /over/);
});

test('work gives its place back when it fails', async () => {
  const turns = createTurns(options);
  const fails = () => Promise.reject(new Error('no'));
  await assert.rejects(turns.run('a', null, fails), /no/);
  assert.equal(await turns.run('a', null, async () => 'done'), 'done');
});

test('among more tenants than are remembered, one that holds a place is still known', async () => {
  const { order, ask, end } = world({ places: 2 });
  await ask('a1');
  for (let n = 0; n < 1_100; n++) {
    const name = String.fromCharCode(0x4e00 + n);
    await ask(name);
    await end(name);
  }
  void ask('a2');
  await settled();
  assert.equal(order.includes('a2'), false, 'it would hold all places');
  await end('a1');
  assert.equal(order.at(-1), 'a2');
});
