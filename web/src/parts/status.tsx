import type { ReactNode } from 'react';
import { classes } from './classes.ts';

export type Tone = 'ok' | 'warn' | 'bad' | 'plain' | 'accent';

const badges: Record<Tone, string> = {
  ok: 'bg-ok-soft text-ok',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  plain: 'bg-hover text-muted',
  accent: 'bg-accent-soft text-accent',
};
const dots: Record<Tone, string> = {
  ok: 'bg-ok',
  warn: 'bg-warn',
  bad: 'bg-bad',
  plain: 'bg-faint',
  accent: 'bg-accent',
};

/** A word about a state. */
export function Badge({ tone = 'plain', title, children }: { tone?: Tone; title?: string; children: ReactNode }) {
  return (
    <span
      className={classes(
        'inline-flex h-5 max-w-full items-center whitespace-nowrap rounded px-1.5 font-medium text-xs',
        badges[tone],
      )}
    >
      <span title={title} className="truncate">
        {children}
      </span>
    </span>
  );
}

/** A dot with its word, so that nobody has to tell colours apart. */
export function Status({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <span className={classes('size-2 shrink-0 rounded-full', dots[tone])} aria-hidden />
      {children}
    </span>
  );
}

/** Tones for the health of a provider, a target, a model. */
export const healthTones: Record<'healthy' | 'degraded' | 'failing' | 'down', Tone> = {
  healthy: 'ok',
  degraded: 'warn',
  failing: 'bad',
  down: 'bad',
};

/** How full something is, 0 to 1; beyond 0.9 it warns, at 1 it is full. Null: nothing limits it. */
export function Gauge({
  share,
  warnsAt = null,
  label,
  text,
}: {
  share: number | null;
  /** Share of the bar at which a mark is; null: none. */
  warnsAt?: number | null;
  label: string;
  /** The amounts, for those who do not see the bar. */
  text?: string;
}) {
  const shown = Math.max(0, Math.min(1, share ?? 0));
  const warns = share !== null && share >= Math.min(0.9, warnsAt ?? 0.9);
  const tone = share === null ? 'bg-line-strong' : share >= 1 ? 'bg-bad' : warns ? 'bg-warn' : 'bg-accent';
  return (
    <div className="relative">
      {/* biome-ignore lint/a11y/useSemanticElements: browsers draw <meter> each in their own way. */}
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(shown * 100)}
        aria-valuetext={text}
        className="h-1.5 w-full overflow-hidden rounded-full bg-line"
      >
        <div className={classes('h-full rounded-full', tone)} style={{ width: `${shown * 100}%` }} />
      </div>
      {warnsAt !== null && (
        <div
          aria-hidden
          data-mark="soft limit"
          className="-inset-y-1 absolute w-0.5 rounded-full bg-ink"
          style={{ left: `calc(${Math.min(1, warnsAt) * 100}% - 1px)` }}
        />
      )}
    </div>
  );
}
