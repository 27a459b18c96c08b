import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { before, test } from 'node:test';
import type { Work } from './work-counters/count.ts';

/*
 * Costs of a request, counted in the gateway's own thread: unlike time, the same on every machine. Explain a figure
 * that grows; lower it here when it falls.
 */
let counted: Record<string, Work>;
let promoted: Record<string, number>;
before(async () => {
  const child = fork(new URL('./work-counters/count.ts', import.meta.url));
  [[counted, promoted]] = (await once(child, 'message')) as [[typeof counted, typeof promoted]];
});

const most: Readonly<Record<string, Work>> = {
  'whole, passed through': { parses: 2, stringifies: 5, writes: 2, copies: 2, timers: 5 },
  // The upstream gets a request for a stream of some ten events, which is put together here.
  'whole, converted': { parses: 12, stringifies: 6, writes: 2, copies: 2, timers: 6 },
};
for (const [name, limits] of Object.entries(most)) {
  test(`the work of a chat: ${name}`, () => isAtMost(counted[name]!, limits));
}

const mostAnEvent: Readonly<Record<string, Work>> = {
  'passed through': { parses: 0, stringifies: 0, writes: 1, copies: 1, timers: 0 },
  converted: { parses: 1, stringifies: 1, writes: 1, copies: 1, timers: 0 },
};
for (const [name, limits] of Object.entries(mostAnEvent)) {
  test(`the work of an event of a stream: ${name}`, () => {
    const [some, many] = [40, 120].map((events) => counted[`${events} events, ${name}`]!);
    const each = { ...limits };
    // Periodic work, not caused by the event, is less than half of one.
    for (const key of Object.keys(limits) as (keyof Work)[]) each[key] = Math.round((many![key] - some![key]) / 80);
    isAtMost(each, limits);
  });
}

/** Of its row in the books, and little else. A request that is old as a whole leaves 12 kB, and costs half as much CPU again. */
const promotedBytesMax = 4_096;
for (const name of Object.keys(most)) {
  test(`what a chat leaves to full collections: ${name}`, () => {
    assert.ok(promoted[name]! <= promotedBytesMax, `${promoted[name]} bytes`);
  });
}

function isAtMost(work: Work, limits: Work): void {
  for (const [key, limit] of Object.entries(limits)) {
    const times = work[key as keyof Work];
    assert.ok(times <= limit, `${key}: ${times}, not ${limit} (${JSON.stringify(work)})`);
  }
}
