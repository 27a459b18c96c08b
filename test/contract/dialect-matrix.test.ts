import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { DialectId } from '../../src/formats/dialects/dialect.ts';
import { dialects } from '../../src/formats/dialects/dialect-table.ts';
import { checks } from './dialect-matrix/checks.ts';
import { features } from './dialect-matrix/features.ts';
import { type Ask, callerIds, deliveries, upstreamIds } from './dialect-matrix/formats.ts';
import type { Place } from './dialect-matrix/place.ts';
import { dialectsReference } from './dialect-matrix/reference.ts';
import { type Exchange, startRig } from './dialect-matrix/rig.ts';
import { aliasOf, type Twin } from './dialect-matrix/upstreams.ts';
import { allCells, type Cell, type Verdict, verdictOf } from './dialect-matrix/verdicts.ts';

// Failing checks of a caller and a delivery: five errors, one midway, three cuts.
const rig = await startRig(callerIds.length * deliveries.length * 9);

const titles = new Map(features.map(({ id, title }) => [id, title]));

/** The gateway's own refusal, where the table has it. */
class Refused extends Error {}

async function check(cell: Cell): Promise<void> {
  const verdict = verdictOf(cell);
  const dropped = new Set<string>();
  const through = async (twin: Twin, ask: Ask, spec: string): Promise<Exchange> => {
    const exchange = await rig.ask({ ...cell, twin }, ask, spec);
    if (exchange.dropped !== null) dropped.add(exchange.dropped);
    if (verdict.kind !== 'refused') return exchange;
    assert.equal(exchange.status, 400);
    // Behind them it names models that can.
    const words = verdict.words.replace('{model}', aliasOf(cell.upstream, 'well', cell.delivery));
    const [before = '', after = ''] = words.split('{target}');
    const said = String(exchange.error?.message);
    assert.ok(said.startsWith(before) && said.includes(after), said);

    assert.equal(exchange.sent, null, 'nothing is sent that changes the result');
    throw new Refused();
  };
  const place: Place = {
    ...cell,
    rig,
    verdict,
    ask: (ask, spec = 'ok') => through('well', ask, spec),
    another() {
      const twin = rig.fresh(cell.upstream);
      return (ask, spec) => through(twin, ask, spec);
    },
  };
  const end = checks[cell.feature](place);
  if (verdict.kind === 'refused') return assert.rejects(end, Refused);
  await end;
  // A row that is not in the table loses nothing.
  assert.deepEqual([...dropped], verdict.kind === 'lost' ? [verdict.words] : []);
}

function titleOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'yes':
      return 'as asked';
    case 'refused':
      return `400 ${verdict.words}`;
    case 'lost':
      return `${verdict.so} (x-culvert-dropped: ${verdict.words})`;
    case 'differs':
      return verdict.so;
  }
}

test('docs/dialects.md is what is asked here (scripts/write-dialects-docs.mjs writes it)', () => {
  assert.equal(readFileSync(new URL('../../docs/dialects.md', import.meta.url), 'utf8'), dialectsReference());
});

test('every format that callers speak is in the table', async () => {
  const ids: DialectId[] = ['openai-chat', 'anthropic-messages', 'openai-responses', 'gemini'];
  const spoken = ids.filter((id) => {
    try {
      return dialects[id];
    } catch {
      return false;
    }
  });
  assert.deepEqual(spoken, callerIds);
});

// One upstream is asked one thing at a time, because of its script and its records; the four run beside each other. This file
// is alone in its process: the longer it waits there, the more looks at lists of models take a step of a script.
for (const upstream of upstreamIds) {
  test(`callers of every format over ${upstream}`, { concurrency: 1 }, async (t) => {
    for (const cell of allCells().filter((one) => one.upstream === upstream)) {
      const { caller, delivery, feature } = cell;
      await t.test(`${caller}, ${delivery}, ${titles.get(feature)}: ${titleOf(verdictOf(cell))}`, () => check(cell));
    }
  });
}
