import type { ReactNode } from 'react';
import type { Overview } from '../../../../src/admin/overview.ts';
import { count, percent, short, span } from '../../parts/format.ts';
import { spendText, usdOfSum, WithoutPrice } from '../../parts/spend.tsx';

type Totals = Overview['totals'];

/** Sums of the range, against the span before. */
export function Figures({ totals, before }: { totals: Totals; before: Totals }) {
  const tokens = ({ input_tokens, output_tokens }: Totals) => input_tokens + output_tokens;
  const share = ({ errors, requests }: Totals) => (requests === 0 ? 0 : errors / requests);
  const since = 'compared with the period before';
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-3 xl:grid-cols-6">
      <Figure name="Requests" value={short(totals.requests)} exact={count(totals.requests)}>
        <Change now={totals.requests} before={before.requests} since={since} />
      </Figure>
      <Figure
        name="Errors"
        value={percent(share(totals))}
        exact={`${count(totals.errors)} of ${count(totals.requests)}`}
        tone={share(totals) >= 0.05 ? 'bad' : undefined}
      >
        {count(totals.errors)} failed
      </Figure>
      <Figure name="Tokens" value={short(tokens(totals))} exact={count(tokens(totals))}>
        <Change now={tokens(totals)} before={tokens(before)} since={since} />
      </Figure>
      <Figure name="Spend" value={usdOfSum(totals)} exact={spendText(totals)}>
        {totals.unpriced_requests > 0 ? (
          <WithoutPrice count={totals.unpriced_requests} at="models" />
        ) : (
          <Change now={totals.cost_usd} before={before.cost_usd} since={since} />
        )}
      </Figure>
      <Figure name="First token, median" value={time(totals.first_token_p50_ms)} exact={ofBins}>
        p95 {time(totals.first_token_p95_ms)}
      </Figure>
      <Figure name="Total time, median" value={time(totals.total_p50_ms)} exact={ofBins}>
        p95 {time(totals.total_p95_ms)}
      </Figure>
    </dl>
  );
}

function time(ms: number | null): string {
  return ms === null ? '–' : `≈ ${span(ms)}`;
}

/** Says how far a percentile may be off. */
export const ofBins = 'Estimated from bins: the true value may be half or twice as much.';

interface FigureProps {
  name: string;
  value: string;
  exact?: string;
  tone?: 'bad';
  children: ReactNode;
}

function Figure({ name, value, exact, tone, children }: FigureProps) {
  return (
    <div className="bg-panel px-4 py-3">
      <dt className="truncate text-muted text-xs">{name}</dt>
      <dd title={exact} className={`mt-0.5 font-semibold text-xl ${tone === 'bad' ? 'text-bad' : ''}`}>
        {value}
      </dd>
      <dd className="truncate text-muted text-xs">{children}</dd>
    </div>
  );
}

function Change({ now, before, since }: { now: number; before: number; since: string }) {
  if (before === 0) return now === 0 ? 'no change' : 'none before';
  const share = now / before - 1;
  if (Math.abs(share) < 0.005) return 'no change';
  const size = Math.abs(share) >= 10 ? `${count(Math.round(now / before))} times` : percent(Math.abs(share));
  const text = `${share > 0 ? '+' : '−'}${size}`;
  return (
    <span title={`${size} ${share > 0 ? 'more' : 'less'} ${since}`}>
      {Math.abs(share) >= 10 ? (
        `${size} as much`
      ) : (
        <>
          {text} <span className="max-xl:hidden">vs. before</span>
        </>
      )}
    </span>
  );
}
