// node bench/run.mjs path [--functions]
// What one streamed, converted chat enters in src/, as V8 counts it.

import { Session } from 'node:inspector/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { startGateway, testKey } from '../../test/start-gateway.ts';
import { startMock } from '../availability/processes.ts';
import { finish } from '../results.ts';
import { judged, print, type Row, told } from '../rows.ts';

const sources = new URL('../../src/', import.meta.url).href;
const warmRequests = 200;
const rounds = 5;
/** Settlement is written by then. Periodic work, such as the looks of each second, is seen in fewer rounds. */
const settledMs = 120;
/** Files that decide and make a request's reservations, counts and records. */
const meteringRooms = ['metering/', 'ledger/', 'stores/'];

const ends: (() => unknown)[] = [];
const lifetime = { after: (end: () => unknown) => void ends.unshift(end) };
const mock = await startMock();
const gateway = await startGateway(lifetime as never, {
  providers: { up: { type: 'anthropic', base_url: `http://127.0.0.1:${mock.port}/v1`, api_key: 'upstream-secret' } },
  models: { chat: { targets: [{ provider: 'up', model: 'mock/ok' }] } },
});
for (let sent = 0; sent < warmRequests; sent += 1) await chat();

const session = new Session();
session.connect();
await session.post('Profiler.enable');
// V8 inlines hot functions and counts them no more.
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
const seen = new Map<string, { rounds: number; calls: number }>();
for (let round = 0; round < rounds; round += 1) {
  await pause(settledMs);
  await session.post('Profiler.takePreciseCoverage');
  await chat();
  await pause(settledMs);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  for (const { url, functions } of result) {
    if (!url.startsWith(sources)) continue;
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges;
      if (whole === undefined || whole.count === 0) continue;
      const name = `${url.slice(sources.length)} ${functionName || `(at ${whole.startOffset})`}`;
      const before = seen.get(name) ?? { rounds: 0, calls: 0 };
      seen.set(name, { rounds: before.rounds + 1, calls: before.calls + whole.count });
    }
  }
}
await session.post('Profiler.stopPreciseCoverage');

// A function of a request is entered in every round.
const entered = [...seen].filter(([, one]) => one.rounds === rounds);
const filesOf = (names: readonly (readonly [string, unknown])[]) => new Set(names.map(([name]) => name.split(' ')[0]!));
const files = filesOf(entered);
const calls = entered.reduce((sum, [, one]) => sum + one.calls, 0) / rounds;
const metering = [...files].filter((file) => meteringRooms.some((room) => file.startsWith(room)));
if (process.argv.includes('--functions'))
  for (const [name, one] of entered.sort()) console.log(name, one.calls / rounds);

const whole = { unit: '', digits: 0 };
const byRoom = Object.entries(Object.groupBy(files, (file) => file.replace(/^(inference\/)?([^/]+)\/.*$/, '$1$2')))
  .map(([room, own]) => `${room} ${own!.length}`)
  .sort()
  .join(', ');
const rows: Row[] = [
  judged('files of src/ that a streamed, converted chat enters', [files.size], { atMost: 65, ...whole }),
  judged('… functions', [entered.length], { atMost: 260, ...whole }),
  told('… calls', calls.toFixed(0)),
  judged('… files of it that meter and write', [metering.length], { atMost: 6, ...whole }),
  told('… files by room', byRoom),
];
print(rows);
for (const end of ends) await end();
mock.stop();
finish({
  subject: 'path',
  command: 'node bench/run.mjs path',
  how: `OpenAI's chat over a provider that speaks Anthropic's messages, streamed, after ${warmRequests} such requests; functions that V8
counts in each of ${rounds} rounds. SQLite and this process's counters.`,
  rows,
});

async function chat(): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  const text = await response.text();
  if (!text.includes('[DONE]')) throw new Error(text);
}
