import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Overview } from '../../../../src/admin/overview.ts';
import { useMay } from '../../api/rights.ts';
import { classes } from '../../parts/classes.ts';
import { Empty } from '../../parts/empty.tsx';
import { Count } from '../../parts/figures.tsx';
import { percent, span } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import type { Ranged } from '../../parts/ranges/use-range.ts';
import { spendText, usdOfSum } from '../../parts/spend.tsx';
import { useAttempts } from '../attempts/use-attempts.ts';

interface TopsProps {
  overview: Overview;
  range: Ranged;
  account: string | undefined;
}

/** Accounts, models and providers with the most usage. */
export function Tops({ overview: { top, from, to }, range, account }: TopsProps) {
  const mayProviders = useMay('providers', 'read');
  return (
    <div className="grid gap-4 lg:grid-cols-3">
      <Top title="Models" by="model" rows={top.models} order={top.order_by} range={range} />
      <Top title="Accounts" by="account" rows={top.accounts} order={top.order_by} range={range} />
      {account === undefined && mayProviders ? (
        <ProvidersByAttempts range={range} span={{ from, ...(range.query.to !== undefined && { to }) }} />
      ) : (
        <Top title="Providers" by="provider" rows={top.providers} order={top.order_by} range={range} />
      )}
    </div>
  );
}

const topsMax = 8;

/** Providers by attempts, so that one which never answers is among them. */
function ProvidersByAttempts({ range, span: covered }: { range: Ranged; span: { from: string; to?: string } }) {
  const { data } = useAttempts({ group_by: 'provider', ...covered, limit: topsMax });
  const rows = data?.data ?? [];
  const most = Math.max(1, ...rows.map(({ attempts }) => attempts));
  return (
    <Section
      title="Providers by attempts"
      inside="flush"
      actions={
        <Link to="/dashboard/providers" search={range.search as never} className="text-muted text-xs hover:text-ink">
          All providers
        </Link>
      }
    >
      {rows.length === 0 ? (
        <Empty title="There are no attempts yet." />
      ) : (
        <ul className="py-1">
          {rows.map(({ group, attempts, failed, first_token_p95_ms }) => (
            <Line
              key={group}
              to={`/dashboard/providers/${encodeURIComponent(group)}`}
              search={range.search}
              name={group}
              failed={{ part: failed, of: attempts }}
              share={attempts / most}
            >
              <span className="w-14 text-right">
                <Count value={attempts} />
              </span>
              <span className="min-w-16 text-right text-muted" title="Time to first token, p95">
                {first_token_p95_ms === null ? '–' : `≈ ${span(first_token_p95_ms)}`}
              </span>
            </Line>
          ))}
        </ul>
      )}
    </Section>
  );
}

interface LineProps {
  /** Null: no list has these alone. */
  to: string | null;
  search: Record<string, string>;
  name: string;
  failed: { part: number; of: number };
  /** Width of its bar, 0 to 1. */
  share: number;
  children: ReactNode;
}

function Line({ to, search, name, failed, share, children }: LineProps) {
  return (
    <li className={classes('relative px-4 py-1.5', to !== null && 'hover:bg-hover')}>
      <div className="flex items-baseline gap-3">
        {to === null ? (
          <span className="min-w-0 flex-1 truncate text-muted">{name}</span>
        ) : (
          <Link
            to={to as never}
            search={search as never}
            className="min-w-0 flex-1 truncate after:absolute after:inset-0"
          >
            {name}
          </Link>
        )}
        {failed.part > 0 && (
          // One refusal among few makes nobody red, as in the tables of attempts.
          <span
            className={failed.part * 2 > failed.of ? 'text-bad text-xs' : 'text-muted text-xs'}
            title={`${failed.part} of ${failed.of} failed`}
          >
            {percent(failed.part / failed.of)} failed
          </span>
        )}
        {children}
      </div>
      <div className="mt-1 h-1 overflow-hidden rounded-full bg-line" aria-hidden>
        <div className="h-full rounded-full bg-accent" style={{ width: `${share * 100}%` }} />
      </div>
    </li>
  );
}

interface TopProps {
  title: string;
  by: string;
  rows: Overview['top']['models'];
  order: Overview['top']['order_by'];
  range: Ranged;
}

function Top({ title, by, rows, order, range }: TopProps) {
  const sizeOf = ({ requests, cost_usd }: (typeof rows)[number]) => (order === 'cost_usd' ? cost_usd : requests);
  const most = Math.max(...rows.map(sizeOf)) || 1;
  return (
    <Section
      title={order === 'cost_usd' ? `${title} by spend` : title}
      inside="flush"
      actions={
        <Link
          to="/dashboard/usage"
          search={{ ...range.search, group_by: by } as never}
          className="text-muted text-xs hover:text-ink"
        >
          Usage by {by}
        </Link>
      }
    >
      {rows.length === 0 ? (
        <Empty title="There are no requests yet." />
      ) : (
        <ul className="py-1">
          {rows.map((row) => (
            <Line
              key={row.group}
              to={row.group === '' ? null : '/dashboard/requests'}
              search={{ ...range.search, [by]: row.group }}
              name={row.group || `no ${by}`}
              failed={{ part: row.errors, of: row.requests }}
              share={sizeOf(row) / most}
            >
              <span className="w-14 text-right">
                <Count value={row.requests} />
              </span>
              <span className="min-w-16 text-right text-muted" title={spendText(row)}>
                {usdOfSum(row)}
              </span>
            </Line>
          ))}
        </ul>
      )}
    </Section>
  );
}
