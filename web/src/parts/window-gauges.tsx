import { useNowMs } from './figures.tsx';
import { ago, count, instant, moment, short, usd } from './format.ts';
import { Gauge } from './status.tsx';

/** How full one limit is. */
export interface WindowView {
  window: 'minute' | '5h' | 'week' | 'month';
  /** Its period of the calendar; null: a rolling window. */
  calendar: { period: 'day' | 'week' | 'month'; time_zone: string } | null;
  measure: 'requests' | 'units' | 'tokens' | 'usd';
  /** Only requests of this tier; null: all. */
  tier: string | null;
  used: number;
  /** Null: unlimited. */
  limit: number | null;
  /** ISO; null: nothing is counted. */
  freesAt: string | null;
  /** How much then; null: not known. */
  frees: number | null;
}

const spans = { minute: 'per minute', '5h': 'in 5 hours', week: 'in 7 days', month: 'in 30 days' };
const measures = { requests: 'Requests', units: 'Units', tokens: 'Tokens', usd: 'Budget' };

export function windowName(view: Pick<WindowView, 'window' | 'calendar' | 'measure' | 'tier'>): string {
  const { window, calendar, measure, tier } = view;
  if (calendar !== null) return `${measures[measure]} per ${calendar.period} (${calendar.time_zone})`;
  return `${measures[measure]} ${spans[window]}${tier === null ? '' : `, tier ${tier}`}`;
}

export function amount(value: number, measure: WindowView['measure']): string {
  return measure === 'usd' ? usd(value) : short(value);
}

/** A gauge for each limit, and a line for usage without one. Unlimited and unused ones are left out. */
export function WindowGauges({ windows }: { windows: readonly WindowView[] }) {
  const limited = windows.filter(({ limit }) => limit !== null);
  const free = windows.filter(({ limit, used, window }) => limit === null && used > 0 && window === 'month');
  if (limited.length === 0 && free.length === 0) {
    return <p className="text-muted text-sm">There are no limits, and there was no usage lately.</p>;
  }
  return (
    <div className="flex flex-col gap-4">
      {limited.length > 0 && (
        <ul className="grid gap-x-8 gap-y-4 sm:grid-cols-2 xl:grid-cols-3">
          {limited.map((view) => (
            <li key={windowName(view)}>
              <OneWindow view={view} />
            </li>
          ))}
        </ul>
      )}
      {free.length > 0 && (
        <p className="text-muted text-sm">
          Usage without a limit:{' '}
          {free
            .map(({ used, measure, tier }) =>
              [
                amount(used, measure),
                measure !== 'usd' && (used === 1 ? measure.replace(/s$/, '') : measure),
                tier !== null && `of tier ${tier}`,
              ]
                .filter(Boolean)
                .join(' '),
            )
            .join(', ')}{' '}
          in 30 days.
        </p>
      )}
    </div>
  );
}

function OneWindow({ view }: { view: WindowView }) {
  const { used, limit, measure, freesAt } = view;
  const name = windowName(view);
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex items-baseline justify-between gap-2">
        <span className="font-medium text-sm">{name}</span>
        <span className="text-sm" title={`${count(used)} of ${count(limit!)}`}>
          {amount(used, measure)} <span className="text-muted">of {amount(limit!, measure)}</span>
        </span>
      </div>
      <Gauge label={name} share={limit === 0 ? 1 : used / limit!} />
      <p className="text-muted text-xs">
        {freesAt === null ? 'Nothing is used now.' : <Frees view={view} at={freesAt} />}
      </p>
    </div>
  );
}

/** Further ahead a distance says less than the day. */
const distanceMaxMs = 20 * 86_400_000;

function Frees({ view: { frees, measure }, at }: { view: WindowView; at: string }) {
  const nowMs = useNowMs();
  const atMs = Date.parse(at);
  const what =
    frees === null || frees === 0
      ? 'The next one is'
      : measure === 'usd'
        ? `${usd(frees)} is`
        : `${count(frees)} ${frees === 1 ? `${measure.slice(0, -1)} is` : `${measure} are`}`;
  const near = atMs - nowMs < distanceMaxMs;
  return (
    <time dateTime={at} title={instant(atMs)}>
      {what} available again {near ? `${ago(atMs, nowMs)}, at ${moment(atMs, nowMs)}` : `at ${moment(atMs, nowMs)}`}
    </time>
  );
}
