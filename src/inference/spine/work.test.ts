import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { runWork } from './work.ts';

const diskFull = { kind: 'quota-unavailable', cause: 'disk-full' } as const;
const reserved = { kind: 'reserved', headers: ['x-quota', '9'], costMilli: 500 } as const;

/** Work that answers `done`, after a reservation that ends so; what its caller got, and what was settled. */
async function run(reservation: object, unbooked: boolean) {
  const settled: number[] = [];
  const sent: unknown[] = [];
  const services = {
    clock: fakeClock(),
    admission: { reserve: async () => reservation },
    settlement: { settle: (_: unknown, { status }: { status: number }) => settled.push(status) && null },
  };
  const sink = {
    start: (_: string, headers: readonly string[]) => sent.push(headers),
    chunk: (body: string) => sent.push(body),
    end() {},
  };
  const call = {
    requestId: 'r',
    principal: {},
    callerHeaders: {},
    admitted: {},
    tag: null,
    trace: null,
    client: {},
    sink,
  };
  const refused = await runWork(
    services as never,
    { work: async ({ held }) => ({ body: held === null ? 'free' : 'paid', failure: null }) },
    call as never,
    { release() {} },
    { charge: { endpoint: 'e', alias: '', tier: null, costMilli: 500 }, unbooked },
  );
  return { refused, sent, settled };
}

test('work is paid, and says its cost', async () => {
  const sent = [['x-culvert-cost', '0.5', 'x-quota', '9'], 'paid'];
  assert.deepEqual(await run(reserved, true), { refused: null, sent, settled: [200] });
});

test('work that reads alone is done while a full disk takes no reservation, and nothing is settled', async () => {
  assert.deepEqual(await run(diskFull, true), { refused: null, sent: [[], 'free'], settled: [] });
  assert.deepEqual(await run(diskFull, false), { refused: diskFull, sent: [], settled: [] });
});
