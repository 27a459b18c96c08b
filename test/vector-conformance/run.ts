// npm run conformance:qdrant -- FOLDER [--over=URL | --over=culvert] [--only=PATTERN] [--causes=N] [--json]
// Runs Qdrant's own tests from a checkout of qdrant/qdrant or qdrant/qdrant-client against a gateway that it starts.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { pythonTools } from './python-tools.ts';
import { report, summarize, type TestResult } from './report.ts';
import { suiteIn } from './suites.ts';

const usage = `npm run conformance:qdrant -- FOLDER [--over=URL | --over=culvert] [--only=PATTERN] [--causes=N] [--json]
FOLDER: a checkout of qdrant/qdrant (tests/openapi) or qdrant/qdrant-client (tests/congruence_tests).
--over: vectors.engine qdrant at that address, or at a second Culvert; without it the embedded engine.
--only: as pytest's -k.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    over: { type: 'string' },
    only: { type: 'string' },
    causes: { type: 'string', default: '40' },
    json: { type: 'boolean', default: false },
  },
});
const checkout = positionals[0] === undefined ? null : resolve(positionals[0]);
const suite = checkout !== null && statSync(checkout, { throwIfNoEntry: false }) ? suiteIn(checkout) : null;
if (checkout === null || suite === null) {
  console.error(checkout === null ? usage : `No tests of Qdrant's in ${checkout}\n${usage}`);
  process.exit(2);
}

const python = pythonTools();
const ends: (() => Promise<void>)[] = [];
const after = ((end: () => Promise<void>) => void ends.push(end)) as never;
const folder = mkdtempSync(join(tmpdir(), 'culvert-conformance-'));
try {
  const gateway = await startGateway({ after }, await engine(values.over));
  const out = join(folder, 'results.jsonl');
  const only = values.only === undefined ? [] : ['-k', values.only];
  const args = [
    '-m',
    'pytest',
    '-q',
    '-p',
    'watch_answers',
    '-p',
    'no:cacheprovider',
    '--continue-on-collection-errors',
    '--timeout=120',
    // A checkout's own options may name plugins that are not here.
    '-o',
    'addopts=',
    ...only,
    suite.folder,
  ];
  // The gateway serves on this thread: nothing here may block while the tests run.
  const child = spawn(python, args, {
    cwd: checkout,
    stdio: ['ignore', values.json ? 'ignore' : 'pipe', 'inherit'],
    env: {
      ...process.env,
      PYTHONPATH: [dirname(fileURLToPath(import.meta.url)), checkout].join(':'),
      PYTHONDONTWRITEBYTECODE: '1',
      CONFORMANCE_URL: gateway.url,
      CONFORMANCE_KEY: testKey,
      CONFORMANCE_OUT: out,
      ...suite.environment({ url: gateway.url, key: testKey, checkout }),
    },
  });
  let tail = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-4_000);
  });
  await once(child, 'close');
  const lines = readFileSync(out, 'utf8').split('\n').filter(Boolean);
  if (lines.length === 0) throw new Error(`pytest ran no tests:\n${tail}`);
  const results = lines.map((line) => JSON.parse(line) as TestResult);
  console.log(values.json ? JSON.stringify(results) : report(summarize(results), Number(values.causes)));
} finally {
  for (const end of ends.reverse()) await end();
  rmSync(folder, { recursive: true, force: true });
}

/** The configuration's `vectors`, for the embedded engine or over a Qdrant. */
async function engine(over: string | undefined): Promise<Record<string, unknown>> {
  if (over === undefined) return {};
  const url = over === 'culvert' ? (await startGateway({ after })).url : over;
  return { vectors: { engine: 'qdrant', url, ...(over === 'culvert' && { api_key: otherKey }) } };
}
