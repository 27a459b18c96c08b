import { Link } from '@tanstack/react-router';
import type { Overview } from '../../../../src/admin/overview.ts';
import { Empty } from '../../parts/empty.tsx';
import { Count } from '../../parts/figures.tsx';
import { percent, usd } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';

/** Accounts, models and providers with the most usage. */
export function Tops({ overview: { top } }: { overview: Overview }) {
  return (
    <div className="grid gap-4 lg:grid-cols-3">
      <Top title="Models" by="model" rows={top.models} />
      <Top title="Accounts" by="account" rows={top.accounts} />
      <Top title="Providers" by="provider" rows={top.providers} />
    </div>
  );
}

function Top({ title, by, rows }: { title: string; by: string; rows: Overview['top']['models'] }) {
  const most = Math.max(1, ...rows.map(({ requests }) => requests));
  return (
    <Section
      title={title}
      inside="flush"
      actions={
        <Link to="/dashboard/usage" search={{ group_by: by } as never} className="text-muted text-xs hover:text-ink">
          Usage by {by}
        </Link>
      }
    >
      {rows.length === 0 ? (
        <Empty title="There are no requests yet." />
      ) : (
        <ul className="py-1">
          {rows.map(({ group, requests, errors, cost_usd }) => (
            <li key={group} className="relative px-4 py-1.5 hover:bg-hover">
              <div className="flex items-baseline gap-3">
                <Link
                  to="/dashboard/requests"
                  search={{ [by]: group } as never}
                  className="min-w-0 flex-1 truncate after:absolute after:inset-0"
                >
                  {group}
                </Link>
                {errors > 0 && (
                  <span className="text-bad text-xs" title={`${errors} of ${requests} failed`}>
                    {percent(errors / requests)} failed
                  </span>
                )}
                <span className="w-14 text-right">
                  <Count value={requests} />
                </span>
                <span className="w-16 text-right text-muted">{usd(cost_usd)}</span>
              </div>
              <div className="mt-1 h-1 overflow-hidden rounded-full bg-line" aria-hidden>
                <div className="h-full rounded-full bg-accent" style={{ width: `${(requests / most) * 100}%` }} />
              </div>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
