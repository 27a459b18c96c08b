import { useNowMs } from './figures.tsx';
import { ago, count, instant, moment, plural, short, usd } from './format.ts';
import { Gauge } from './status.tsx';
import { freed, type WindowView } from './window-view.ts';

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
  const limited = windows.filter(({ limit, soft }) => limit !== null || soft !== null);
  const free = windows.filter(
    ({ limit, soft, used, window, calendar }) =>
      limit === null && soft === null && used > 0 && window === 'month' && calendar === null,
  );
  if (limited.length === 0 && free.length === 0) {
    return <p className="text-muted text-sm">There are no limits and no recent usage.</p>;
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
  const { used, limit, soft, measure, freesAt } = view;
  const name = windowName(view);
  const of = limit === null ? '' : ` of ${amount(limit, measure)}`;
  const passed = soft !== null && used >= soft;
  const warns = soft === null ? null : `Warns at ${amount(soft, measure)}`;
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex items-baseline justify-between gap-2">
        <span className="font-medium text-sm">{name}</span>
        <span
          className="whitespace-nowrap text-sm"
          title={limit === null ? count(used) : `${count(used)} of ${count(limit)}`}
        >
          {amount(used, measure)} <span className="text-muted">{limit === null ? 'used' : of}</span>
        </span>
      </div>
      <Gauge
        label={name}
        {...sharesOf(view)}
        text={[amount(used, measure) + of, warns?.toLowerCase()].filter(Boolean).join(', ')}
      />
      <p className="text-muted text-xs">
        {warns !== null && (
          <span className={passed ? 'font-medium text-warn' : undefined}>
            {warns}
            {limit === null && ', refuses nothing'}.{' '}
          </span>
        )}
        {limit === 0 ? (
          'It allows nothing.'
        ) : freesAt === null ? (
          'Nothing used right now.'
        ) : (
          <Frees view={view} at={freesAt} />
        )}
        {limit !== 0 && freesAt !== null && <Pace view={view} endMs={Date.parse(freesAt)} />}
      </p>
    </div>
  );
}

/** Room behind the mark of a bar whose limit only warns. */
const softRoom = 1.25;

/** How much of the bar is filled, and where its mark is. A bar without a limit ends behind the mark, or at what is used. */
function sharesOf({ used, limit, soft }: WindowView): { share: number; warnsAt: number | null } {
  const end = limit ?? Math.max((soft ?? 0) * softRoom, used * softRoom);
  if (end === 0) return { share: limit === null ? 0 : 1, warnsAt: soft === null ? null : 0 };
  return { share: used / end, warnsAt: soft === null ? null : soft / end };
}

const dayMs = 86_400_000;
/** A smaller part of a period tells nothing about the rest of it. */
const pacedFrom = 0.05;

/** Forecast of a period of the calendar: its sum if it goes on as it began, or when its limit is reached. */
function Pace({ view: { calendar, used, limit, measure }, endMs }: { view: WindowView; endMs: number }) {
  const nowMs = useNowMs();
  if (calendar === null || used === 0 || (limit !== null && used >= limit)) return null;
  const lastDay = new Intl.DateTimeFormat('en', { timeZone: calendar.time_zone, day: 'numeric' }).format(endMs - 1);
  const wholeMs = { day: 1, week: 7, month: Number(lastDay) }[calendar.period] * dayMs;
  const passed = 1 - (endMs - nowMs) / wholeMs;
  if (passed < pacedFrom) return null;
  const total = used / passed;
  if (limit === null || total <= limit) return `; at this pace ${amount(total, measure)} is spent by then`;
  const fullAtMs = endMs - wholeMs * (1 - limit / total);
  return <span className="font-medium text-warn">; at this pace it is used up at {moment(fullAtMs, nowMs)}</span>;
}

/** Further ahead a distance says less than the day. */
const distanceMaxMs = 20 * 86_400_000;

function Frees({ view, at }: { view: WindowView; at: string }) {
  const nowMs = useNowMs();
  const atMs = Date.parse(at);
  const near = atMs - nowMs < distanceMaxMs;
  return (
    <time dateTime={at} title={instant(atMs)}>
      {freedText(view)} {near ? `${ago(atMs, nowMs)}, at ${moment(atMs, nowMs)}` : `at ${moment(atMs, nowMs)}`}
    </time>
  );
}

/** `3 units are available again`, `1 unit stops counting`. */
function freedText(view: WindowView): string {
  // A period ends as a whole.
  if (view.calendar !== null) return 'All of it is available again';
  const { measure } = view;
  const { part, is } = freed(view);
  const isOne = part === null || part === 1 || measure === 'usd';
  const happens =
    is === 'available again' ? `${isOne ? 'is' : 'are'} available again` : `stop${isOne ? 's' : ''} counting`;
  if (part === null) return `The ${is === 'available again' ? 'next' : 'oldest'} part ${happens}`;
  return `${measure === 'usd' ? usd(part) : plural(part, measure.slice(0, -1))} ${happens}`;
}
