// node bench/run.mjs availability [scenario…] [--seconds=120] [--per-second=10]
// node bench/run.mjs availability fairness, or some of its rows [--checkout=folder of another commit]

import { scratchFolder, startCulvert } from '../gateway/processes.ts';
import { exitBy, writeSection } from '../results.ts';
import { print, type Row } from '../rows.ts';
import { fairness, measureFairness, writeFairness } from './fairness.ts';
import { faultyScenarios } from './faulty.ts';
import { poisonedScenarios } from './poisoned.ts';
import { startMock } from './processes.ts';
import { adminKey, configOf, keysOf, type Scenario } from './scenario.ts';
import { silentScenarios } from './silent.ts';

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const seconds = numberOf('seconds', 120);
const perSecond = numberOf('per-second', 10);
/** Nothing listens on the discard port. */
const closedPort = 9;

const mock = await startMock();
const fair = Object.keys(fairness).filter((name) => named.includes(name) || named.includes('fairness'));
const fairNames = ['fairness', ...Object.keys(fairness)];
const scenarioNames = named.filter((name) => !fairNames.includes(name));
const rows: Row[] = [];
if (named.length === 0 || scenarioNames.length > 0) rows.push(...(await measureScenarios()));
if (named.length === 0) fair.push(...Object.keys(fairness));
const checkout = textOf('checkout') ?? null;
const fairRows = await measureFairness(mock, fair, checkout);
if (fair.length === Object.keys(fairness).length) writeFairness(fairRows, checkout);
mock.stop();
exitBy([...rows, ...fairRows]);

async function measureScenarios(): Promise<Row[]> {
  const all: Scenario[] = [...faultyScenarios(mock), ...poisonedScenarios(mock), ...(await silentScenarios())];
  const unknown = scenarioNames.filter((name) => !all.some(({ id }) => id === name));
  if (unknown.length > 0) {
    const known = [...all.map(({ id }) => id), ...fairNames].join(', ');
    console.error(`No such scenario: ${unknown.join(', ')}. Scenarios: ${known}.`);
    process.exit(2);
  }
  // `one-dead` is measured against what a healthy one takes.
  const wanted = named.length === 0 ? all : all.filter(({ id }) => id === 'healthy' || scenarioNames.includes(id));
  const config = configOf(wanted, closedPort);
  const culvert = await startCulvert({ upstreamPort: mock.port, folder: scratchFolder(), cores: '0,1', ...config });
  const url = `http://127.0.0.1:${culvert.port}`;
  const rows: Row[] = [];
  try {
    for (const scenario of wanted.filter(({ alone }) => alone)) rows.push(...(await measured(url, scenario)));
    // Each mostly waits: all at the same time, through one gateway.
    const together = await Promise.all(wanted.filter(({ alone }) => !alone).map((one) => measured(url, one)));
    rows.unshift(...together.flat());
  } finally {
    await culvert.stop();
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
  return rows;
}

async function measured(url: string, scenario: Scenario): Promise<readonly Row[]> {
  return print(await scenario.measure({ url, adminKey, scenario, keys: keysOf(scenario.id), perSecond, seconds }));
}

function numberOf(flag: string, fallback: number): number {
  const text = textOf(flag);
  const value = text === undefined ? fallback : Number(text);
  if (!(value > 0)) throw new Error(`--${flag} must be a number above 0`);
  return value;
}

function textOf(flag: string): string | undefined {
  return flags.find((one) => one.startsWith(`--${flag}=`))?.slice(flag.length + 3);
}
