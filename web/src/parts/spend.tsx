import { Link } from '@tanstack/react-router';
import { Money } from './figures.tsx';
import { exactUsd, plural, short, usd } from './format.ts';

export interface Spent {
  cost_usd: number;
  unpriced_requests: number;
}

/** Says it of a sum, exactly. */
export function spendText({ cost_usd, unpriced_requests }: Spent): string {
  return unpriced_requests === 0
    ? exactUsd(cost_usd)
    : `${exactUsd(cost_usd)} + ${plural(unpriced_requests, 'request')} without a price`;
}

/** A sum of USD for a narrow place: `no price` where nothing of it has one, `$1.23 +` where a part has none. */
export function usdOfSum({ cost_usd, unpriced_requests }: Spent): string {
  if (unpriced_requests === 0) return usd(cost_usd);
  return cost_usd === 0 ? 'no price' : `${usd(cost_usd)} +`;
}

interface SpendProps {
  sum: Spent | null | undefined;
  /** Leads to where a price is set: the model's page, or usage by model. Absent: nowhere, for who cannot set one. */
  at?: { model: string } | 'models';
}

/** A sum of USD, with the count of requests that it lacks because their model has no price. */
export function Spend({ sum, at }: SpendProps) {
  if (sum == null || sum.unpriced_requests === 0) return <Money value={sum?.cost_usd} />;
  const title = `${spendText(sum)}. Set one at the model, then recalculate.`;
  return (
    <span title={title}>
      {sum.cost_usd !== 0 && `${usd(sum.cost_usd)} + `}
      <WithoutPrice count={sum.unpriced_requests} at={at} />
    </span>
  );
}

/** `4 unpriced`, as a link to where a price is set. */
export function WithoutPrice({ count, at }: { count: number; at?: SpendProps['at'] }) {
  const text = `${short(count)} unpriced`;
  if (at === undefined) return <span className="text-muted">{text}</span>;
  const to = at === 'models' ? '/dashboard/usage' : `/dashboard/models/${encodeURIComponent(at.model)}`;
  const search = at === 'models' ? { group_by: 'model', measure: 'unpriced_requests' } : {};
  return (
    <Link to={to as never} search={search as never} className="text-muted underline underline-offset-2 hover:text-ink">
      {text}
    </Link>
  );
}
