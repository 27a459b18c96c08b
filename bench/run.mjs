#!/usr/bin/env node
// node bench/run.mjs                    every subject
// node bench/run.mjs gateway [row…]     one of them, with its own arguments
// node bench/run.mjs regress A B        what a request costs at commit B against commit A
// node bench/run.mjs pages FOLDER       how well the main content of labelled pages is found
// node bench/run.mjs start                a newcomer's first start, packages from the registry included
// node bench/run.mjs peers FOLDER       other gateways beside this one: those of a folder (bench/peers/run.ts)
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { buildBundle } from '../scripts/build.mjs';

const subjects = {
  gateway: 'gateway/run.ts',
  metering: 'metering/run.ts',
  ledger: 'ledger/commit-cost.ts',
  routing: 'routing/next.ts',
  prices: 'prices/run.ts',
  mcp: 'mcp/run.ts',
  batches: 'batches/run.ts',
  bedrock: 'bedrock/run.ts',
  realtime: 'realtime/run.ts',
  dialects: 'dialects/run.ts',
  vectors: 'vectors/run.ts',
  audio: 'audio/run.ts',
  tools: 'tools/run.ts',
  http2: 'http2/run.ts',
  availability: 'availability/run.ts',
  overload: 'overload/run.ts',
  guards: 'guards/run.ts',
  rules: 'rules/run.ts',
  callers: 'callers/run.ts',
  hooks: 'hooks/run.ts',
  cache: 'cache/run.ts',
  path: 'path/run.ts',
  dashboard: 'dashboard/run.ts',
  telemetry: 'telemetry/run.ts',
  sizing: 'sizing/run.ts',
  processes: 'processes/run.ts',
  replicas: 'replicas/run.ts',
};
/** With arguments of their own: run by name alone. */
const byHand = {
  regress: 'regress/run.ts',
  pages: 'pages/run.ts',
  peers: 'peers/run.ts',
  start: 'start/run.ts',
};
const [first, ...rest] = process.argv.slice(2);
const flagsOnly = first === undefined || first.startsWith('--');
if (!flagsOnly && !(first in subjects) && !(first in byHand)) {
  console.error(
    `No such subject: ${first}. Subjects: ${[...Object.keys(subjects), ...Object.keys(byHand)].join(', ')}.`,
  );
  process.exit(2);
}
// Servers are measured as they are shipped.
if (flagsOnly || first in subjects || first === 'peers')
  await buildBundle(fileURLToPath(new URL('../dist', import.meta.url)));
for (const name of flagsOnly ? Object.keys(subjects) : [first]) {
  const script = fileURLToPath(new URL(subjects[name] ?? byHand[name], import.meta.url));
  const args = flagsOnly ? (name === 'gateway' ? process.argv.slice(2) : []) : rest;
  console.log(`\n# ${name}`);
  const { status } = spawnSync(process.execPath, [script, ...args], { stdio: 'inherit' });
  // A row that misses its goal keeps no other subject from being measured.
  if (status !== 0) process.exitCode = status ?? 1;
}
