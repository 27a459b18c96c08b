// node bench/run.mjs availability [scenario…] [--seconds=120] [--per-second=10]

import { scratchFolder, startCulvert } from '../gateway/processes.ts';
import { writeSection } from '../results.ts';
import { printed, type Row } from '../rows.ts';
import { faultyScenarios } from './faulty.ts';
import { poisonedScenarios } from './poisoned.ts';
import { startMock } from './processes.ts';
import { adminKey, configOf, keysOf, type Scenario } from './scenario.ts';
import { silentScenarios } from './silent.ts';

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const seconds = numberOf('seconds', 120);
const perSecond = numberOf('per-second', 10);
/** Nobody listens on the discard port. */
const closedPort = 9;

const mock = await startMock();
const all: Scenario[] = [...faultyScenarios(mock), ...poisonedScenarios(mock), ...(await silentScenarios())];
const unknown = named.filter((name) => !all.some(({ id }) => id === name));
if (unknown.length > 0) {
  console.error(`No such scenario: ${unknown.join(', ')}. Scenarios: ${all.map(({ id }) => id).join(', ')}.`);
  process.exit(2);
}
// `one-dead` is measured against what a healthy one takes.
const wanted = named.length === 0 ? all : all.filter(({ id }) => id === 'healthy' || named.includes(id));

const config = configOf(wanted, closedPort);
const culvert = await startCulvert({ upstreamPort: mock.port, folder: scratchFolder(), cores: '0,1', ...config });
const url = `http://127.0.0.1:${culvert.port}`;
const rows: Row[] = [];
try {
  for (const scenario of wanted.filter(({ alone }) => alone)) rows.push(...(await measured(scenario)));
  // Each mostly waits: all at the same time, through one gateway.
  const together = await Promise.all(wanted.filter(({ alone }) => !alone).map(measured));
  rows.unshift(...together.flat());
} finally {
  await culvert.stop();
  mock.stop();
}

if (named.length === 0)
  writeSection({
    subject: 'availability',
    command: ['node bench/run.mjs availability', ...flags].join(' '),
    how: `Open loop, ${perSecond} requests a second for ${seconds} s a scenario, whole and streamed in turns, four keys; all scenarios but the
closed loop at once, through one gateway with default retries and timeouts; mocks in processes of their own.
Callers give up after 60 s.`,
    rows,
  });
process.exit(0);

async function measured(scenario: Scenario): Promise<Row[]> {
  const own = await scenario.measure({ url, adminKey, scenario, keys: keysOf(scenario.id), perSecond, seconds });
  for (const row of own) console.log(printed(row));
  return own;
}

function numberOf(flag: string, fallback: number): number {
  const text = flags.find((one) => one.startsWith(`--${flag}=`))?.slice(flag.length + 3);
  const value = text === undefined ? fallback : Number(text);
  if (!(value > 0)) throw new Error(`--${flag} must be a number above 0`);
  return value;
}
