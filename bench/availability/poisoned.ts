import { setTimeout as pause } from 'node:timers/promises';
import { openLoop } from '../../test/faults/many-calls.ts';
import { judged, told } from '../rows.ts';
import type { MockProcess } from './processes.ts';
import { adminKey, answeredRow, callsOf, detailRows, load, type Scenario, type Stage } from './scenario.ts';

const everyMs = 1_500;
/** Few enough that others' successes between two failures of the culprit hide nothing. */
const othersPerSecond = 2;
const lookMs = 250;

/** S26: one tenant's prompt makes the provider answer 500, every 1.5 s; the others ask beside it. */
export function poisonedScenarios(mock: MockProcess): Scenario[] {
  const spec = 'prompt=poison;status=500';
  return [
    poisoned('poison-one', 'a poisoned prompt at the only target', [{ spec, at: mock }]),
    poisoned('poison-two', 'a poisoned prompt at both of two', [
      { spec, at: mock },
      { spec, at: mock },
    ]),
  ];
}

function poisoned(id: string, what: string, targets: Scenario['targets']): Scenario {
  return {
    id,
    targets,
    async measure(stage) {
      const [culprit = '', ...others] = stage.keys;
      const watch = watchStatus(stage);
      const bad = callsOf(stage, Math.floor((stage.seconds * 1_000) / everyMs), {
        keys: [culprit],
        content: 'This is poison.',
      });
      const [seen, poisonous] = await Promise.all([
        load({ ...stage, perSecond: othersPerSecond, keys: others }),
        openLoop(bad, 1_000 / everyMs),
      ]);
      const { looks, down, closed } = await watch.stop();
      return [
        answeredRow(`${what}: the others`, seen, 99.5),
        judged('… the model shown as down', [(down / looks) * 100], { atMost: 0, unit: ' %', digits: 1 }),
        told('… one of its targets closed out', `${((closed / looks) * 100).toFixed(1)} %`),
        told(
          '… poisoned ones that were answered',
          String(poisonous.filter((one) => one.outcome === 'answered').length),
        ),
        ...(await detailRows(stage, [...seen, ...poisonous])),
      ];
    },
  };
}

/** How often the alias is looked at, and how often it is down, or one of its targets. */
function watchStatus({ url, scenario }: Stage): {
  stop(): Promise<{ looks: number; down: number; closed: number }>;
} {
  let over = false;
  const counts = { looks: 0, down: 0, closed: 0 };
  const watching = (async () => {
    while (!over) {
      const response = await fetch(`${url}/admin/v1/models?limit=100`, {
        headers: { authorization: `Bearer ${adminKey}` },
      });
      const { data } = (await response.json()) as {
        data: { id: string; status: string; targets: { status: string }[] }[];
      };
      const alias = data.find(({ id }) => id === scenario.id);
      if (alias === undefined) throw new Error(`no model ${scenario.id}: ${response.status}`);
      counts.looks += 1;
      if (alias.status === 'down') counts.down += 1;
      if (alias.targets.some(({ status }) => status === 'down')) counts.closed += 1;
      await pause(lookMs);
    }
    return counts;
  })();
  return {
    stop() {
      over = true;
      return watching;
    },
  };
}
