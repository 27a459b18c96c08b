import { recordsOf } from '../../test/faults/books-agree.ts';
import { type CallSeen, openLoop } from '../../test/faults/many-calls.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import { startMock } from './processes.ts';
import {
  adminKey,
  answeredRow,
  callsOf,
  callTimes,
  detailRows,
  providerOf,
  type Scenario,
  type Stage,
} from './scenario.ts';

const requests = 200;
/** This many make the usual time of a target known. */
const before = 150;
const beforePerSecond = 25;
/** Requests in 12 s of the load; a gateway that goes on sending to the silent one runs into it. */
const concurrency = 120;
const coldMs = 35_000;
const knownMs = 2_000;

/** F63: the first target accepts and says nothing any more (SIGSTOP), the second is idle and healthy. */
export async function silentScenarios(): Promise<Scenario[]> {
  const forms = ['whole', 'stream', 'embedding'] as const;
  return Promise.all(forms.flatMap((form) => [silent(form, 'cold'), silent(form, 'known')]));
}

async function silent(form: 'whole' | 'stream' | 'embedding', usual: 'cold' | 'known'): Promise<Scenario> {
  const [first, second] = await Promise.all([startMock(), startMock()]);
  return {
    id: `silent-${usual}-${form}`,
    ...(form === 'embedding' && { type: 'embedding' }),
    targets: [
      { spec: 'ok', at: first, priority: 1 },
      { spec: 'ok', at: second, priority: 2 },
    ],
    concurrency,
    async measure(stage) {
      const warm = usual === 'known' ? await openLoop(callsOf(stage, before, { form }), beforePerSecond) : [];
      first.hang();
      const seen = await openLoop(callsOf(stage, requests, { form }), stage.perSecond);
      const after = await openLoop(callsOf(stage, 100, { form }), stage.perSecond);
      first.goOn();
      const name = `one of two silent, ${form}, ${usual === 'cold' ? 'nothing known' : 'its usual known'}`;
      const rows = [
        answeredRow(name, seen, 100),
        slowest(usual, seen),
        judged('… of 100 more after these: p99', [p99(after)], secondsAtMost(knownMs)),
        judged('… refused with 429', [[...seen, ...after].filter(({ status }) => status === 429).length], {
          atMost: 0,
          unit: '',
          digits: 0,
        }),
        ...(await askedTwice(stage, warm.length)),
        ...(await detailRows(stage, [...warm, ...seen, ...after])),
      ];
      first.stop();
      second.stop();
      return rows;
    },
  };
}

function slowest(usual: 'cold' | 'known', seen: readonly CallSeen[]): Row {
  return judged('… p99', [p99(seen)], secondsAtMost(usual === 'cold' ? coldMs : knownMs));
}

/** The healthy one answers each request at most once; what the silent one held is all that was asked twice. */
async function askedTwice(stage: Stage, warm: number): Promise<Row[]> {
  const { scenario, url } = stage;
  const healthy = (await callTimes(scenario))[1]?.length ?? 0;
  const records = await recordsOf({ url, adminKey, account: scenario.id });
  const silent = providerOf(scenario.id, 0);
  const held = records.filter(({ route }) =>
    route.attempts.some((attempt) => attempt.provider === silent && attempt.class !== 'ok'),
  ).length;
  return [
    judged('… calls to the healthy one a request', [healthy / (records.length - warm)], {
      atMost: 1.05,
      unit: '',
      digits: 2,
    }),
    told('… requests that the silent one held', String(held)),
  ];
}

function p99(seen: readonly CallSeen[]): number {
  return (
    percentile(
      seen.map(({ ms }) => ms),
      0.99,
    ) / 1_000
  );
}

function secondsAtMost(ms: number) {
  return { atMost: ms / 1_000, unit: ' s', digits: 2 };
}
