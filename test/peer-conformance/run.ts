// npm run conformance:peers -- FOLDER [--only=PATTERN] [--json=FILE]
// Runs another gateway's own integration tests against a Culvert over the simulator, and says what passes.

import { statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Peer, peers } from './peers.ts';
import { Refused } from './refused.ts';
import { report } from './report.ts';

const usage = `npm run conformance:peers -- FOLDER [--only=PATTERN] [--json=FILE]
FOLDER: a checkout, or its folder of tests, of
${peers.map(({ name, looksFor }) => `  ${name}, which has ${looksFor}`).join('\n')}
--only: as pytest's -k and vitest's -t.`;

try {
  const { folder, peer, only, json } = asked();
  // A word on how to call it needs no gateway.
  const { runPeer } = await import('./run-peer.ts');
  const { results, notes } = await runPeer(peer, folder, only);
  console.log([`${peer.name}: ${folder}`, '', report(results), ...notes].join('\n'));
  if (json !== undefined) writeFileSync(json, JSON.stringify(results, null, 1));
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

function asked(): { folder: string; peer: Peer; only: string | undefined; json: string | undefined } {
  const { values, positionals } = parsed();
  const [path] = positionals;
  if (path === undefined) throw new Refused(usage);
  const folder = resolve(path);
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder) throw new Refused(`No such folder: ${folder}\n${usage}`);
  const peer = peers.find((one) => one.suites(folder).length > 0);
  if (peer === undefined) throw new Refused(`No known peer's tests in ${folder}\n${usage}`);
  return { folder, peer, only: values.only, json: values.json };
}

function parsed() {
  try {
    return parseArgs({ allowPositionals: true, options: { only: { type: 'string' }, json: { type: 'string' } } });
  } catch (error) {
    throw new Refused(`${(error as Error).message}\n${usage}`);
  }
}
