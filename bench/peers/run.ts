// node bench/run.mjs peers [FOLDER] [names…] [--cores one|all] [--quick]
// Gateways beside each other: those of this repository and the machine, and whichever of the others stand in FOLDER
// (default: bench/peers). It says of the others where to get them. CULVERT_BENCH_DEBUG=1 shows what they print.
import { statSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { closedLoop } from '../gateway/load.ts';
import { loadCore, pin, proxyCore, startUpstream } from '../gateway/processes.ts';
import { signalTrees } from '../gateway/tree.ts';
import { writeSection } from '../results.ts';
import { type Gateway, type Running, upstreamModel } from './gateway.ts';
import { type Extent, Figures, measureLatency, measureRound, memoryMb, requestTo, warm } from './measure.ts';
import { others } from './others.ts';
import { ours } from './ours.ts';
import { tableOf } from './table.ts';

/** A rate that each of them can keep on one core. */
const rate = 20;
const callers = [1, 8, 64, 512];
const full: Extent = {
  ...{ rounds: 3, seconds: 3, warmSeconds: 8, againSeconds: 2, warmCallers: 64 },
  ...{ callers, rate, firstTokens: 60, patienceSeconds: 90 },
};
const quick: Extent = {
  ...{ rounds: 1, seconds: 1, warmSeconds: 3, againSeconds: 1, warmCallers: 64 },
  ...{ callers, rate, firstTokens: 10, patienceSeconds: 20 },
};

/** Where the gateway runs, and with how many workers; where load and upstream do. */
interface Cores {
  gateway: string;
  workers: number;
  load: string;
  upstream: string;
  how: string;
}

interface Measured {
  gateway: Gateway;
  version: string;
  running: Running;
  figures: Figures;
}

const gateways = [...ours, ...others];
const { values: flags, positionals } = parseArgs({
  options: { cores: { type: 'string', default: 'one' }, quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const { folder, wanted } = asked(positionals);
const cores = coresOf(flags.cores);
const extent = flags.quick ? quick : full;
const loadBefore = loadavg()[0] ?? 0;

const found = wanted.map((gateway) => ({ gateway, program: gateway.find(folder) }));
for (const { gateway, program } of found)
  if (program === null) console.log(`${gateway.name} is not in ${folder}. Get it: ${gateway.get}.`);

pin(process.pid, cores.load);
const upstream = await startUpstream(cores.upstream);
const direct = { port: upstream.port, headers: {}, model: upstreamModel };
const directFigures = new Figures();
const measured: Measured[] = [];
try {
  for (const { gateway, program } of found) {
    if (program === null) continue;
    try {
      const one = await firstAnswer(gateway, program);
      measured.push(one);
      await warm(one.running, extent.warmSeconds, extent);
      standStill(one);
    } catch (error) {
      console.log(`${gateway.name} is left out: ${error instanceof Error ? error.message : error}.`);
    }
  }
  console.error(`started and warm: ${measured.map(({ running }) => running.name).join(', ')}`);
  // In turns: what the machine does beside falls on all alike.
  for (let round = 0; round < extent.rounds; round += 1) {
    await measureLatency(direct, extent, directFigures);
    for (const one of measured) {
      const { running, figures } = one;
      goOn(one);
      await warm(running, extent.againSeconds, extent);
      const beganMs = performance.now();
      await measureRound(running, upstream, extent, figures);
      standStill(one);
      const tookS = ((performance.now() - beganMs) / 1_000).toFixed(0);
      console.error(`round ${round + 1} of ${extent.rounds}: ${running.name}, ${tookS} s`);
    }
  }
  for (const { running, figures } of measured) figures.add('memory last', memoryMb(running));
} finally {
  for (const one of measured) goOn(one);
  await Promise.all(measured.map(({ running }) => running.stop()));
  upstream.stop();
}

const table = tableOf(
  extent,
  measured.map(({ gateway, figures }) => ({ name: gateway.name, figures })),
  directFigures,
);
const how = `${cores.how} Medians of ${extent.rounds} rounds in turns, ${extent.seconds} s each; answers have 2 KB.
The machine's load was ${loadBefore.toFixed(1)} before. CPU and memory are of all processes of a gateway; while one is measured, the others stand still. What each does for a request:
${measured.map(({ gateway, version }) => `${gateway.name} (${version}): ${gateway.keeps}`).join('; ')}.
${flags.cores === 'all' ? `How each uses several cores: ${measured.map(({ gateway }) => `${gateway.name}: ${gateway.manyCores ?? 'has no way, one process'}`).join('; ')}.\n` : ''}`;
console.log(`\n${how}\n${table}`);
// A part, or a glance, takes no other run's place.
if (positionals.length <= 1 && !flags.quick) {
  const subject = flags.cores === 'all' ? 'peers on all cores' : 'peers';
  writeSection({ subject, command: `node bench/run.mjs peers FOLDER --cores ${flags.cores}`, how, table });
} else console.log('\nNot written to bench/results.md: that takes all of them, without --quick.');
process.exit(0);

/** Some are busy for minutes with callers that have left, on the core of the one that is measured then. */
function standStill({ running: { pid, stores } }: Measured): void {
  signalTrees([pid, ...stores], 'SIGSTOP');
}

function goOn({ running: { pid, stores } }: Measured): void {
  signalTrees([pid, ...stores], 'SIGCONT');
}

/** A folder first, where the first word is one; then names of gateways, or all of them. */
function asked(words: readonly string[]): { folder: string; wanted: readonly Gateway[] } {
  const [first = '', ...rest] = words;
  const isFolder = statSync(first, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const names = (isFolder ? rest : words).map((name) => name.toLowerCase());
  const known = gateways.map(({ name }) => name.toLowerCase());
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) refuse(`No such folder or gateway: ${unknown.join(', ')}. Gateways: ${known.join(', ')}.`);
  return {
    folder: isFolder ? resolve(first) : fileURLToPath(new URL('.', import.meta.url)),
    wanted: gateways.filter(({ name }) => names.length === 0 || names.includes(name.toLowerCase())),
  };
}

function coresOf(kind: string): Cores {
  const last = availableParallelism() - 1;
  if (last < 1) refuse('It takes a machine with two cores at least: one for the gateway, one for the load.');
  if (kind === 'one') {
    const how = 'Gateway on core 0 with one worker, load and upstream on core 1.';
    return { gateway: proxyCore, workers: 1, load: loadCore, upstream: loadCore, how };
  }
  if (kind !== 'all') refuse(`--cores is one or all, and not ${kind}.`);
  if (last < 3) {
    const how = `Gateway with ${last + 1} workers on all ${last + 1} cores; load and upstream share the last of them with it.`;
    return { gateway: `0-${last}`, workers: last + 1, load: String(last), upstream: String(last), how };
  }
  const how = `Gateway with ${last - 1} workers on ${last - 1} cores, load and upstream on one more each.`;
  return { gateway: `0-${last - 2}`, workers: last - 1, load: String(last), upstream: String(last - 1), how };
}

function refuse(why: string): never {
  console.error(why);
  process.exit(2);
}

/** It listens before it can answer, where it loads models first. */
async function firstAnswer(gateway: Gateway, program: string): Promise<Measured> {
  const startMs = performance.now();
  const order = { program, upstreamPort: upstream.port, cores: cores.gateway, workers: cores.workers };
  const running = await gateway.start(order);
  const load = { port: running.port, request: requestTo(running, null), connections: 1, seconds: 30, requestsMax: 1 };
  for (let attempts = 0; (await closedLoop(load)).errors > 0; attempts += 1) {
    if (attempts > 200) throw new Error('it refuses a chat: CULVERT_BENCH_DEBUG=1 shows why');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const figures = new Figures();
  figures.add('start', performance.now() - startMs);
  figures.add('memory first', memoryMb(running));
  return { gateway, version: gateway.version(program), running, figures };
}
