import { type CallSeen, closedLoop } from '../../test/faults/many-calls.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import type { MockProcess } from './processes.ts';
import { answeredRow, callsOf, callTimes, detailRows, load, type Scenario, type Stage } from './scenario.ts';

const slowerMs = 50;
const closedLoopCallers = 20;
const closedLoopRequests = 2_000;

/** Providers that fail in part (F61, F62), and all of them at once. `healthyMs` gives the p50 beside nothing broken. */
export function faultyScenarios(mock: MockProcess): Scenario[] {
  let healthy: (p50Ms: number) => void;
  const healthyMs = new Promise<number>((resolve) => {
    healthy = resolve;
  });
  const targets = (...specs: readonly string[]) => specs.map((spec) => ({ spec, at: mock }));
  const answered = (id: string, what: string, specs: readonly string[], atLeast: number): Scenario => ({
    id,
    targets: targets(...specs),
    async measure(stage) {
      const seen = await load(stage);
      return [answeredRow(what, seen, atLeast), ...(await detailRows(stage, seen))];
    },
  });

  return [
    {
      id: 'healthy',
      targets: targets('ok'),
      async measure(stage) {
        const seen = await load(stage);
        healthy(p50(seen));
        return [answeredRow('one healthy provider', seen, 100), ...(await detailRows(stage, seen))];
      },
    },
    answered(
      'three-at-30',
      'three providers at 30 % random faults',
      ['flap=0.3;seed=1', 'flap=0.3;seed=2', 'flap=0.3;seed=3'],
      98.5,
    ),
    answered('two-at-50', 'two at 50 %', ['flap=0.5;seed=4', 'flap=0.5;seed=5'], 92),
    answered('each-second', 'two that fail every second call', ['every=2;seed=6', 'every=2;seed=7'], 92),
    answered('in-turns', 'two in turns, 3 s up and 3 s down', ['alternate=3s', 'alternate=3s/down'], 99.9),
    answered('one-at-30', 'one target alone at 30 %', ['flap=0.3;seed=8'], 98.5),
    {
      id: 'one-dead',
      targets: [{ spec: 'ok', at: 'closed' }, ...targets('ok')],
      async measure(stage) {
        const seen = await load(stage);
        const boundMs = (await healthyMs) + slowerMs;
        const slow = seen.filter(({ ms }) => ms > boundMs).length / seen.length;
        return [
          answeredRow('one dead of two', seen, 100),
          judged(`… slower than the healthy p50 + ${slowerMs} ms`, [slow * 100], { atMost: 2, unit: ' %', digits: 1 }),
          ...(await detailRows(stage, seen)),
        ];
      },
    },
    {
      id: 'closed-loop',
      targets: targets('flap=0.5;seed=9', 'flap=0.5;seed=10'),
      alone: true,
      async measure(stage) {
        const seen = await closedLoop(callsOf(stage, closedLoopRequests), closedLoopCallers);
        return [
          answeredRow(`two at 50 %, ${closedLoopCallers} callers that do not wait`, seen, 92),
          ...(await detailRows(stage, seen)),
        ];
      },
    },
    outage('all-503', 'everything answers 503', targets('status=503', 'status=503')),
    outage('one-503', 'the only target answers 503', targets('status=503')),
  ];
}

/** While nothing can answer, callers must not be the ones who keep it down. */
function outage(id: string, what: string, targets: Scenario['targets']): Scenario {
  const callsMax = 1.25;
  return {
    id,
    targets,
    async measure(stage: Stage): Promise<Row[]> {
      const startMs = Date.now();
      const seen = await load(stage);
      const times = (await callTimes(stage.scenario)).flatMap((at) => at ?? []);
      const calls = times.filter((atMs) => atMs >= startMs + 1_000).length;
      const requests = seen.filter(({ sinceMs }) => sinceMs >= 1_000).length;
      return [
        judged(`${what}: upstream calls a request after 1 s`, [calls / requests], {
          atMost: callsMax,
          unit: '',
          digits: 2,
        }),
        told('… statuses', statuses(seen)),
        ...(await detailRows(stage, seen)),
      ];
    },
  };
}

function statuses(seen: readonly CallSeen[]): string {
  const groups = Object.entries(Object.groupBy(seen, ({ status }) => status));
  return groups.map(([status, of]) => `${of?.length} × ${status}`).join(', ');
}

function p50(seen: readonly CallSeen[]): number {
  return percentile(
    seen.map(({ ms }) => ms),
    0.5,
  );
}
