import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unrestricted } from '../../src/books/auth/principal.ts';
import { checkConfigText } from '../../src/config/check.ts';
import { textsIn } from '../../src/formats/neutral/json-texts.ts';
import { runnerOf } from '../../src/inference/hooks/hook-keeper.ts';
import { hookStep } from '../../src/inference/hooks/hook-step.ts';
import type { RequestView } from '../../src/inference/models/steps.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { finish } from '../results.ts';
import { judged, print } from '../rows.ts';

/** What a hook costs a request beside its own code: CPU of the loop and of the hook's thread. */

const folder = mkdtempSync(join(tmpdir(), 'culvert-bench-'));
const module = join(folder, 'empty.mjs');
writeFileSync(module, 'export default { version: 1, onRequest() {} };');
const checked = checkConfigText(JSON.stringify({ hooks: { empty: { module, deadline: '10s' } } }), 'culvert.yaml', {});
if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
const config = checked.config.hooks.empty!;
const nobody = { info() {}, warn() {}, error() {} };
const parts = {
  clock: systemClock,
  env: {},
  folder,
  planOf: () => 'default',
  transport: null as never,
  log: nobody as never,
};
const runner = runnerOf('empty', config, parts);
const broken = await runner.load();
if (broken !== null) throw new Error(broken);
const step = hookStep({ name: 'empty', config, runner, broken: null, log: nobody, warned: { atMs: 0 } });
const about = {
  requestId: 'req_bench',
  principal: unrestricted('default'),
  callerHeaders: {},
  endpoint: 'chat',
  alias: null,
};
const viewOf = (chars: number): RequestView => {
  const body = { model: 'smart', messages: [{ role: 'user', content: 'word '.repeat(chars / 5) }] };
  return { texts: async () => textsIn(body), canonical: async () => null };
};
const rounds = 5;

/** CPU of one request, in µs, of each round. */
async function cpuUs(times: number, atOnce: number, view: RequestView): Promise<number[]> {
  const once = async () => void (await step.begin(about)?.request?.(view));
  const round = async () => {
    let left = times;
    const worker = async () => {
      while (left-- > 0) await once();
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  };
  await round();
  const found: number[] = [];
  for (let at = 0; at < rounds; at += 1) {
    const before = process.cpuUsage();
    await round();
    const { user, system } = process.cpuUsage(before);
    found.push((user + system) / times);
  }
  return found;
}

const goal = { atMost: 30, unit: ' µs', digits: 1 };
const rows = [
  judged('an empty onRequest over 200 characters, 16 at once', await cpuUs(20_000, 16, viewOf(200)), goal),
  judged('… one at a time', await cpuUs(5_000, 1, viewOf(200)), { ...goal, atMost: 60 }),
  judged('… over 20,000 characters, 16 at once', await cpuUs(5_000, 16, viewOf(20_000)), { ...goal, atMost: 60 }),
];
print(rows);
await runner.close();
rmSync(folder, { recursive: true, force: true });
finish({
  subject: 'hooks',
  command: 'npm run bench -- hooks',
  how: 'What an empty hook adds to a request: CPU of the loop and of its thread together, both of one process.',
  rows,
});
