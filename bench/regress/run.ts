// node bench/run.mjs regress A B [--node=PROGRAM] [--rounds=7] [--most=1.05] [--write]
// What a request costs at commit B against commit A, in CPU time; ends with 1 when it is above 5 % more, or above another
// ratio. --node: another Node for B, which may be the same commit. --write: into bench/results.md.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closedLoop } from '../gateway/load.ts';
import { cpuSeconds, type Subject, startCulvert, startUpstream } from '../gateway/processes.ts';
import { chatRequest } from '../gateway/wire.ts';
import { median } from '../percentile.ts';
import { writeSection } from '../results.ts';
import { judged, print, type Row } from '../rows.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The compiler is busy until then: 105 µs a request then read 60. */
const warmSeconds = 8;
const roundSeconds = 2;
const connections = 10;

const [before, after] = process.argv.slice(2).filter((one) => !one.startsWith('--'));
if (before === undefined || after === undefined) {
  console.error('Say which two commits: node bench/run.mjs regress A B');
  process.exit(2);
}
const rounds = Number(/--rounds=(\d+)/.exec(process.argv.join(' '))?.[1] ?? 7);
const most = Number(/--most=([\d.]+)/.exec(process.argv.join(' '))?.[1] ?? 1.05);
const node = /--node=(\S+)/.exec(process.argv.join(' '))?.[1];
const loadBefore = (loadavg()[0] ?? 0).toFixed(1);
const kinds = {
  'whole answers, passed through': { model: 'same', stream: null },
  'streams, converted': { model: 'converted', stream: 'short' },
} as const;

const folder = mkdtempSync(join(tmpdir(), 'culvert-regress-'));
const upstream = await startUpstream();
let worst = 0;
const rows: Row[] = [];
try {
  const [a, b] = await Promise.all([started(before, 'a'), started(after, 'b', node)]);
  for (const [what, kind] of Object.entries(kinds)) {
    for (const one of [a, b]) await costOf(one, kind, warmSeconds);
    const ratios: number[] = [];
    const own: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // The first one has the machine as the last one left it.
      const order = round % 2 === 0 ? [a, b] : [b, a];
      const cost = new Map<Subject, number>();
      for (const one of order) cost.set(one, await costOf(one, kind, roundSeconds));
      ratios.push(cost.get(b)! / cost.get(a)!);
      own.push(cost.get(b)!);
    }
    rows.push(
      ...print([
        judged(`CPU a request of ${what}, ÷ that of ${before}`, ratios, { atMost: most, unit: '', digits: 3 }),
        judged(`… at ${after}`, own, { unit: ' µs', digits: 1 }),
      ]),
    );
    worst = Math.max(worst, median(ratios));
  }
  await Promise.all([a.stop(), b.stop()]);
} finally {
  upstream.stop();
  rmSync(folder, { recursive: true, force: true });
  // A commit that is not there has no worktree, and its error is the one to read.
  git('worktree', 'prune');
}
if (process.argv.includes('--write'))
  writeSection({
    subject: 'regress',
    command: `node bench/run.mjs regress ${before} ${after}${node === undefined ? '' : ` --node=${node}`} --most=${most} --write`,
    how: `Two commits in turns, each after ${warmSeconds} s of load; medians of ${rounds} rounds of ${roundSeconds} s, ${connections} connections. The machine's load
was ${loadBefore} before.`,
    rows,
  });
process.exit(worst > most ? 1 : 0);

/** µs of CPU time that one request takes the gateway. */
async function costOf(gateway: Subject, kind: (typeof kinds)[keyof typeof kinds], seconds: number): Promise<number> {
  const startedS = cpuSeconds(gateway.pid);
  const request = chatRequest({ headers: gateway.headers, ...kind });
  const { requests, errors } = await closedLoop({ port: gateway.port, request, connections, seconds });
  if (errors > 0) throw new Error(`${errors} of ${requests} requests failed`);
  return ((cpuSeconds(gateway.pid) - startedS) / requests) * 1e6;
}

async function started(commit: string, place: string, program?: string): Promise<Subject> {
  const checkout = join(folder, place);
  git('worktree', 'add', '--detach', '--force', checkout, commit);
  const lock = (place: string) => readFileSync(join(place, 'package-lock.json'), 'utf8');
  if (lock(checkout) === lock(root)) symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  else execFileSync('npm', ['ci', '--silent'], { cwd: checkout, stdio: 'inherit' });
  return startCulvert({ upstreamPort: upstream.port, checkout, node: program });
}

function git(...args: string[]): void {
  execFileSync('git', ['-C', root, ...args], { stdio: 'pipe' });
}
