import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import type { PlanPreview } from '../../../../src/admin/entries/account-windows.ts';
import { plans } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Note } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { useRested } from '../../parts/use-rested.ts';
import { amount, windowName } from '../../parts/window-gauges.tsx';

/** Pause in typing before the server is asked. */
const restMs = 400;

/** Accounts that the typed plan would stop. */
export function Preview({ name, definition }: { name: string; definition: Record<string, unknown> }) {
  const settled = useRested(JSON.stringify(definition), restMs);
  const { data, error, isFetching } = useQuery({
    queryKey: [plans.path, name, 'preview', settled],
    queryFn: ({ signal }) =>
      call<PlanPreview>('POST', `${plans.addressOf(name)}/preview`, {
        body: JSON.parse(settled),
        signal,
      }),
    placeholderData: keepPreviousData,
  });
  return (
    <Section title="Preview">
      <div role="status" aria-busy={isFetching} className="flex flex-col gap-3 text-sm">
        {error !== null && <p className="text-muted">{error.message}</p>}
        {error === null && data === undefined && <Skeleton className="h-12" />}
        {error === null && data !== undefined && <Stopped preview={data} />}
      </div>
    </Section>
  );
}

function Stopped({ preview: { accounts, looked_at, data } }: { preview: PlanPreview }) {
  if (accounts === 0) return <p className="text-muted">No account has this plan.</p>;
  const rest = looked_at < accounts ? ` Culvert checked the first ${looked_at} of ${accounts} accounts.` : '';
  if (data.length === 0) {
    return (
      <Note tone="ok" icon={<Check />}>
        Nobody would be stopped. {plural(accounts, 'account has', 'accounts have')} this plan.{rest}
      </Note>
    );
  }
  return (
    <>
      <Note tone="warn">
        {plural(data.length, data[0]!.key === null ? 'account' : 'key')} would be stopped at once.{rest}
      </Note>
      <ul className="flex flex-col gap-3">
        {data.map(({ account, key, windows }) => (
          <li key={`${account} ${key}`}>
            <Link
              to={`/dashboard/accounts/${encodeURIComponent(account)}`}
              className="font-medium underline underline-offset-2"
            >
              {account}
            </Link>
            {key !== null && <code className="ml-2 font-mono text-muted text-xs">{key}</code>}
            <ul className="text-muted">
              {windows.map((view) => (
                <li key={windowName(view)}>
                  {windowName(view)}: {amount(view.used, view.measure)} used of {amount(view.limit ?? 0, view.measure)}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}
