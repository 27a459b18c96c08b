// node bench/run.mjs gateway [row…] [--quick] [--idle] [--no-portkey]
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { measureIdle, measureMemory } from './measure-memory.ts';
import { type Bench, measureLatency, measureRequests } from './measure-requests.ts';
import { measureStart } from './measure-start.ts';
import { measureAbort, measureDelay, measureStall, measureStreams } from './measure-streams.ts';
import { loadCore, pin, startCulvert, startNginx, startPortkey, startUpstream } from './processes.ts';
import { markdownTable, printed, type Row } from './rows.ts';

const measurements: Record<string, (bench: Bench) => Promise<Row[]>> = {
  requests: measureRequests,
  latency: measureLatency,
  streams: measureStreams,
  delay: measureDelay,
  memory: measureMemory,
  start: measureStart,
  abort: measureAbort,
  stall: measureStall,
};
const byHand: Record<string, (bench: Bench) => Promise<Row[]>> = { idle: measureIdle };

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const wanted = [
  ...(named.length > 0 ? named : Object.keys(measurements)),
  ...(flags.includes('--idle') ? ['idle'] : []),
];
const unknown = wanted.filter((name) => !(name in measurements) && !(name in byHand));
if (unknown.length > 0) {
  console.error(`No such row: ${unknown.join(', ')}. Rows: ${[...Object.keys(measurements), 'idle'].join(', ')}.`);
  process.exit(2);
}

pin(process.pid, loadCore);
const upstream = await startUpstream();
const bench: Bench = {
  upstream,
  nginx: await startNginx(upstream.port),
  culvert: await startCulvert({ upstreamPort: upstream.port }),
  portkey: flags.includes('--no-portkey') || !wanted.includes('requests') ? null : await startPortkey(upstream.port),
  mode: flags.includes('--quick') ? 'quick' : 'full',
};
if (bench.portkey === null && wanted.includes('requests') && !flags.includes('--no-portkey'))
  console.error('Portkey is left out: npm install --ignore-scripts in bench/gateway first.');

const rows: Row[] = [];
try {
  for (const name of wanted) {
    for (const row of await (measurements[name] ?? byHand[name]!)(bench)) {
      rows.push(row);
      console.log(printed(row));
    }
  }
} finally {
  await Promise.all([bench.nginx, bench.culvert, bench.portkey].map((proxy) => proxy?.stop()));
  upstream.stop();
}

const results = fileURLToPath(new URL('../results.md', import.meta.url));
if (named.length === 0) writeSection(results, 'gateway', section());
process.exit(0);

function section(): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}`;
  const command = ['node bench/run.mjs gateway', ...flags].join(' ');
  return [
    '## gateway',
    '',
    `${new Date().toISOString().slice(0, 10)}, commit ${commit}, \`${command}\`, ${machine}. Proxy on core 0, load and upstream on core 1;`,
    'A/B/A/B rounds, the median is judged. Everything on: key, ledger in SQLite, metrics, a log line a request.',
    '',
    markdownTable(rows),
    '',
  ].join('\n');
}

/** Each subject has its section of results.md; the others stay as they were. */
function writeSection(file: string, name: string, text: string): void {
  let before = '# Figures\n\nMust reach: design §18. Written by `npm run bench`.\n\n';
  try {
    before = readFileSync(file, 'utf8');
  } catch {
    // The first run writes it.
  }
  const others = before.split(/^(?=## )/m).filter((part) => !part.startsWith(`## ${name}\n`));
  writeFileSync(file, `${others.join('').trimEnd()}\n\n${text}`);
}
