import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { nameHourTables } from '../../src/books/ledger/day-sums.ts';
import { type ZoneDays, zoneDays } from '../../src/books/ledger/zone-days.ts';
import {
  type Ledger,
  type PartMeasure,
  partMeasures,
  type UsageEvent,
  type UsageFilter,
  type UsageGroup,
} from '../../src/books/metering/ledger.ts';
import { allNarrowTables } from '../../src/stores/ledger/day-sums.ts';
import { readPostgresBackup, writePostgresBackup } from '../../src/stores/postgres/backup.ts';
import { connect } from '../../src/stores/postgres/database.ts';
import { readBackup, writeBackup } from '../../src/stores/sqlite/backup.ts';
import { openDataFolder } from '../../src/stores/sqlite/data-folder.ts';
import { openDatabase } from '../../src/stores/sqlite/database.ts';
import { openSnapshots } from '../../src/stores/sqlite/snapshots.ts';
import { patientPools } from '../start-postgres.ts';
import { drivers } from './drivers.ts';
import { reservationRow, usageEvent } from './rows.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const groups = ['hour', 'day', 'model', 'account', 'endpoint', 'user', 'tag', 'provider', 'key'] as const;

/** One request: its facts, and whether its days were added up before it came. */
const request = fc.record({
  agoMs: fc.integer({ min: 0, max: 4 * dayMs }),
  account: fc.constantFrom('dev', 'ops'),
  keyId: fc.constantFrom('k1', 'k2'),
  alias: fc.constantFrom('smart', 'small'),
  endpoint: fc.constantFrom('chat', 'embeddings'),
  target: fc.constantFrom('up/a', 'other/b', null),
  user: fc.constantFrom('ann', 'ben', null),
  tag: fc.constantFrom('nightly', null),
  class: fc.constantFrom('ok', 'timeout'),
  usageSource: fc.constantFrom('upstream', 'counted', 'estimated', 'none'),
  costMilli: fc.integer({ min: 0, max: 5_000 }),
  inputTokens: fc.integer({ min: 0, max: 1_000 }),
  outputTokens: fc.integer({ min: 0, max: 1_000 }),
  costNano: fc.option(fc.integer({ min: 0, max: 1_000_000_000 })),
  late: fc.boolean(),
});

/** What happens between two adding ups. */
const between = fc.record({
  spoilt: fc.constantFrom(null, 'empty', 'stale'),
  /** Which request gets another cost, as a share of all. */
  repriced: fc.double({ min: 0, max: 0.999, noNaN: true }),
  costNano: fc.integer({ min: 0, max: 1_000_000_000 }),
});
type Between = typeof between extends fc.Arbitrary<infer One> ? One : never;

type Request = typeof request extends fc.Arbitrary<infer One> ? One : never;

async function settle(
  ledger: Ledger,
  nowMs: number,
  { agoMs, costNano, late: _, ...over }: Request,
): Promise<UsageEvent> {
  const row = reservationRow({ atMs: nowMs - agoMs, account: over.account, alias: over.alias });
  await ledger.open(row);
  const event = usageEvent(row, { ...over, costUsd: costNano === null ? null : costNano / 1e9 });
  ledger.close(event);
  return event;
}

/** Requests, errors, milli-units, tokens in and out, nano-USD, requests without a price. */
type Sums = [number, number, number, number, number, number, number];

function sumsOf(event: UsageEvent): Sums {
  const { inputTokens, outputTokens, costUsd } = event;
  const unpriced = costUsd === null && event.target !== null && event.usageSource !== 'none' ? 1 : 0;
  const nano = Math.round((costUsd ?? 0) * 1e9);
  return [1, event.class === 'ok' ? 0 : 1, event.costMilli, inputTokens, outputTokens, nano, unpriced];
}

const plus = (sum: Sums | undefined, more: Sums): Sums => more.map((value, at) => value + (sum?.[at] ?? 0)) as Sums;

const sizes: Record<PartMeasure, (sums: Sums) => number> = {
  units: ([, , units]) => units,
  requests: ([requests]) => requests,
  tokens: ([, , , input, output]) => input + output,
  cost_usd: ([, , , , , nano]) => nano,
  errors: ([, errors]) => errors,
  unpriced_requests: (sums) => sums[6],
};

/** The parts that have rows, and how many have none. */
function largestOf(parts: readonly [string, Sums][], { count, by }: { count: number; by: PartMeasure }) {
  const sums = new Map<string, Sums>();
  for (const [part, sum] of parts) sums.set(part, plus(sums.get(part), sum));
  const bySize = [...sums].sort(([a, one], [b, other]) => sizes[by](other) - sizes[by](one) || (a < b ? -1 : 1));
  return { largest: new Set(bySize.slice(0, count).map(([part]) => part)), others: Math.max(0, sums.size - count) };
}

function nameOf(group: UsageGroup, event: UsageEvent, days: ZoneDays): string {
  const at = new Date(event.atMs).toISOString();
  const hour = Math.floor(event.atMs / hourMs);
  const ahead = days.find(({ untilHour }) => hour < untilHour)?.ahead ?? 0;
  const names: Record<UsageGroup, string> = {
    hour: `${at.slice(0, 13)}:00Z`,
    day: new Date((hour + ahead) * hourMs).toISOString().slice(0, 10),
    model: event.alias,
    account: event.account,
    endpoint: event.endpoint,
    user: event.user ?? '',
    tag: event.tag ?? '',
    provider: event.target?.split('/')[0] ?? '',
    key: event.keyId,
  };
  return names[group];
}

/**
 * Leaves what a database has right after an upgrade or a restore (days in the wide tables alone), or after a replica of
 * an older version changed these alone.
 */
async function spoilSums(driver: string, place: string, how: 'empty' | 'stale'): Promise<void> {
  const tables = [...allNarrowTables, ...nameHourTables].map(({ name }) => name);
  const names = [...tables, ...(how === 'empty' ? ['narrowed', 'named'] : [])];
  const spoilt = (table: string) => (how === 'empty' ? `DELETE FROM ${table}` : `UPDATE ${table} SET usd_nano = 7`);
  if (driver === 'sqlite') {
    const database = openDatabase(join(place, 'ledger.db'), 'os', 5_000);
    for (const name of names) database.exec(spoilt(name));
    database.close();
    return;
  }
  const database = await connect(place, patientPools);
  for (const name of names) await database.rest.run(spoilt(`culvert.${name}`));
  await database.close();
}

for (const driver of drivers) {
  test(`${driver.name}: sums of roll-ups equal the ledger's to the unit, whatever came when and is added up already`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    // One ledger for all runs, each with a time of its own: a database is slow to make.
    const ledger = await store.ledger('boot-1');
    const nowMs = Date.now() - dayMs;
    const events: UsageEvent[] = [];
    const nowHour = Math.floor(nowMs / hourMs);
    // Clocks change somewhere in the days of the requests.
    const zone = fc
      .record({
        ahead: fc.integer({ min: -12, max: 13 }),
        changedHour: fc.integer({ min: nowHour - 96, max: nowHour }),
        changedBy: fc.constantFrom(-1, 0, 1),
      })
      .map(
        ({ ahead, changedHour, changedBy }): ZoneDays => [
          { untilHour: changedHour, ahead },
          { untilHour: Number.POSITIVE_INFINITY, ahead: ahead + changedBy },
        ],
      );
    const parts = fc.option(
      fc.record({ count: fc.integer({ min: 1, max: 3 }), by: fc.constantFrom(...partMeasures) }),
      { nil: undefined },
    );
    const question = fc.record({
      groupBy: fc.constantFrom(...groups),
      splitBy: fc.constantFrom(null, ...groups),
      accounts: fc.constantFrom<readonly string[] | null>(null, ['dev'], ['dev', 'ops'], []),
      where: fc.constantFrom<UsageFilter>(
        {},
        { alias: 'smart' },
        { user: 'ann' },
        { tag: 'nightly', key: 'k1' },
        { provider: 'up' },
      ),
      days: fc.option(zone, { nil: undefined }),
      parts,
      fromHours: fc.integer({ min: 0, max: 130 }),
      hours: fc.integer({ min: 1, max: 130 }),
    });
    type Question = typeof question extends fc.Arbitrary<infer One> ? One : never;
    // By one name over all days: the narrow tables.
    const always = groups.map((groupBy): Question => {
      const time = { days: undefined, parts: undefined, fromHours: 5 * 24, hours: 5 * 24 };
      const all = { splitBy: null, accounts: null, where: {}, ...time };
      return { groupBy, ...all };
    });
    const byZoneDay = fc
      .record({ splitBy: fc.constantFrom(null, 'model', 'account', 'user', 'tag'), days: zone, parts })
      .map((zoned): Question => ({ ...always[0]!, groupBy: 'day', ...zoned }));
    const asked = fc.array(fc.oneof(byZoneDay, question), { minLength: 12, maxLength: 12 });
    const requests = fc.array(request, { minLength: 1, maxLength: 25 });
    const run = async (came: readonly Request[], asked: readonly Question[], between: Between) => {
      // A file has one server, of one version.
      const spoilt = driver.name === 'sqlite' && between.spoilt === 'stale' ? null : between.spoilt;
      for (const late of [false, true]) {
        const these = came.filter((each) => each.late === late);
        events.push(...(await Promise.all(these.map((one) => settle(ledger, nowMs, one)))));
        await ledger.flush();
        if (late && spoilt !== 'stale') await check(asked);
        // Adds up the days that are over, and removes nothing.
        await ledger.prune(0);
        if (late) continue;
        if (spoilt !== null) await spoilSums(driver.name, store.place, spoilt);
        // All of them may be late.
        if (events.length === 0) continue;
        const place = Math.floor(between.repriced * events.length);
        const before = events[place]!;
        const after = { ...before, costUsd: between.costNano / 1e9 };
        assert.deepEqual(await ledger.reprice([{ before, after }], nowMs), [before.requestId]);
        events[place] = after;
      }
      await check(asked);
    };
    const check = async (asked: readonly Question[]) => {
      for (const { fromHours, hours, days, parts, ...of } of [...always, ...asked]) {
        if (of.groupBy === of.splitBy) continue;
        const isByZone = days !== undefined && [of.groupBy, of.splitBy].includes('day');
        const isInParts = parts !== undefined && of.splitBy !== null;
        const query = { ...of, ...(isByZone && { days }), ...(isInParts && { parts }) };
        const fromMs = (Math.floor(nowMs / hourMs) - fromHours) * hourMs;
        const span = { fromMs, toMs: fromMs + hours * hourMs };
        const { alias, user, tag, key, provider } = query.where;
        const wanted = events.filter(
          (event) =>
            event.atMs >= span.fromMs &&
            event.atMs < span.toMs &&
            (query.accounts === null || query.accounts.includes(event.account)) &&
            (alias === undefined || event.alias === alias) &&
            (user === undefined || event.user === user) &&
            (tag === undefined || event.tag === tag) &&
            (key === undefined || event.keyId === key) &&
            (provider === undefined || event.target?.startsWith(`${provider}/`) === true),
        );
        const rows = await ledger.usage({ ...query, ...span });
        const { splitBy } = query;
        const partOf = (event: UsageEvent) => (splitBy === null ? '' : nameOf(splitBy, event, query.days ?? []));
        const known = isInParts
          ? largestOf(
              wanted.map((event) => [partOf(event), sumsOf(event)]),
              parts,
            )
          : null;
        const sums = new Map<string, Sums>();
        for (const event of wanted) {
          const part = partOf(event);
          const isOther = known !== null && !known.largest.has(part);
          const name = [nameOf(query.groupBy, event, query.days ?? []), isOther ? `${known.others} others` : part].join(
            ' ',
          );
          sums.set(name, plus(sums.get(name), sumsOf(event)));
        }
        assert.deepEqual(
          new Map(
            rows.map((row) => [
              [row.group, row.otherParts === undefined ? row.split : `${row.otherParts} others`].join(' '),
              [
                row.requests,
                row.errors,
                row.milliUnits,
                row.inputTokens,
                row.outputTokens,
                Math.round(row.costUsd * 1e9),
                row.unpriced,
              ],
            ]),
          ),
          sums,
          JSON.stringify(query),
        );
      }
      const traffic = {
        kind: 'all',
        names: [''],
        grain: 'hour',
        stepMs: hourMs,
        fromMs: nowMs - 6 * dayMs,
        toMs: nowMs + dayMs,
      } as const;
      const points = await ledger.traffic({ ...traffic, fromMs: Math.floor(traffic.fromMs / hourMs) * hourMs });
      assert.deepEqual(
        [
          points.reduce((sum, point) => sum + point.requests, 0),
          points.reduce((sum, point) => sum + point.costMilli, 0),
          points.reduce((sum, point) => sum + point.totals.reduce((all, count) => all + count, 0), 0),
        ],
        [
          events.length,
          events.reduce((sum, event) => sum + event.costMilli, 0),
          events.filter((event) => event.class === 'ok').length,
        ],
      );
    };
    await fc.assert(fc.asyncProperty(requests, asked, between, run), {
      numRuns: 6,
      endOnFailure: true,
    });
    await ledger.shutdown();
  });
}

/** Whole hours, halves and quarters from UTC, also more than half a day; most change their clocks. */
const zones = [
  'Europe/Berlin',
  'America/Los_Angeles',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
];

async function copyByBackup(driver: string, from: string, to: string): Promise<void> {
  if (driver === 'sqlite') {
    const folder = openDataFolder(from);
    return writeBackup(openDataFolder(to), readBackup(folder, openSnapshots(folder)));
  }
  const [source, target] = [await connect(from, patientPools), await connect(to, patientPools)];
  await writePostgresBackup(target, readPostgresBackup(source));
  await source.close();
  await target.close();
}

const formats = new Map(['UTC', ...zones].map((zone) => [zone, new Intl.DateTimeFormat('en-CA', { timeZone: zone })]));

/** The date of the hour of UTC in which the event came. */
function dateIn(zone: string, atMs: number): string {
  return formats.get(zone)!.format(Math.floor(atMs / hourMs) * hourMs);
}

for (const driver of drivers) {
  test(`${driver.name}: days of real time zones by user and tag hold through changes of clocks and the removal of requests`, {
    skip: driver.skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const ledger = await store.ledger('boot-1');
    const events: UsageEvent[] = [];
    // Clocks change in America on 8 March, in Europe on 29 March, on Lord Howe on 5 April.
    const span = { fromMs: Date.UTC(2026, 2, 6), toMs: Date.UTC(2026, 3, 8) };
    const count = (span.toMs - span.fromMs) / (1.5 * hourMs);
    const rows = Array.from({ length: count }, (_, at) => reservationRow({ atMs: span.fromMs + at * 1.5 * hourMs }));
    await Promise.all(rows.map((row) => ledger.open(row)));
    for (const [at, row] of rows.entries()) {
      const names = { user: ['ann', 'ben', null][at % 3] ?? null, tag: at % 4 === 0 ? 'nightly' : null };
      events.push(usageEvent(row, { ...names, costUsd: at / 1e6, inputTokens: at }));
      ledger.close(events.at(-1)!);
    }
    await ledger.flush();
    const check = async (when: string, asked: Ledger = ledger, zonesFromMs = 0) => {
      for (const zone of zones)
        for (const splitBy of ['user', 'tag'] as const) {
          const wanted = new Map<string, number[]>();
          for (const event of events) {
            const date = dateIn(event.atMs < zonesFromMs ? 'UTC' : zone, event.atMs);
            const name = `${date} ${event[splitBy] ?? ''}`;
            const [requests, tokens, nano] = wanted.get(name) ?? [0, 0, 0];
            const usdNano = Math.round((event.costUsd ?? 0) * 1e9);
            wanted.set(name, [requests! + 1, tokens! + event.inputTokens, nano! + usdNano]);
          }
          const days = zoneDays(zone, span);
          const rows = await asked.usage({ groupBy: 'day', splitBy, accounts: null, where: {}, days, ...span });
          const found = rows.map(({ group, split, requests, inputTokens, costUsd }): [string, number[]] => [
            `${group} ${split}`,
            [requests, inputTokens, Math.round(costUsd * 1e9)],
          ]);
          assert.deepEqual(new Map(found), wanted, `${when}: ${zone} by ${splitBy}`);
        }
    };
    /** Another ledger with the rows of a backup; `empty`: one of before hours were summed by name. */
    const copyOf = async (bootId: string, spoilt: 'empty' | null) => {
      const copy = await driver.create();
      t.after(() => copy.remove());
      await copyByBackup(driver.name, store.place, copy.place);
      if (spoilt !== null) await spoilSums(driver.name, copy.place, spoilt);
      return copy.ledger(bootId);
    };
    await check('before days are added up');
    await ledger.prune(0);
    await check('after');
    // The hours of the days that lose requests stay.
    const removedMs = Date.UTC(2026, 2, 20, 5);
    await ledger.prune(removedMs);
    await check('some requests removed');
    const later = await copyOf('boot-3', 'empty');
    await later.prune(0);
    await check('upgraded after that', later, removedMs);
    await later.shutdown();
    const last = events.at(-1)!;
    events[events.length - 1] = { ...last, costUsd: 3 };
    assert.deepEqual(await ledger.reprice([{ before: last, after: events.at(-1)! }], Date.now()), [last.requestId]);
    await ledger.prune(span.toMs);
    await check('all requests removed');
    await ledger.shutdown();
    // Nothing there can make them again.
    const restored = await copyOf('boot-2', null);
    await check('restored', restored);
    await restored.prune(0);
    await check('restored and added up', restored);
    await restored.shutdown();
  });
}
