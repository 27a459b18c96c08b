import { useQuery } from '@tanstack/react-query';
import { Pencil } from 'lucide-react';
import { useState } from 'react';
import type { AccountBudgets } from '../../../../src/admin/entries/account-budgets.ts';
import { accounts, type DetailedAccount } from '../../api/entries.ts';
import { get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { SearchInput } from '../../parts/controls.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Moment } from '../../parts/figures.tsx';
import { usd } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import { Gauge } from '../../parts/status.tsx';
import { EditBudgets, kinds, timeText, typedBudgets } from './edit-budgets.tsx';

/** USD by end user, tag and model within an account. */
export function Budgets({ account }: { account: DetailedAccount }) {
  const [open, setOpen] = useState(false);
  const [user, setUser] = useState('');
  const may = useMay('accounts', 'write') && account.from !== 'configuration';
  const has = account.budgets.length > 0;
  const path = `${accounts.addressOf(account.id)}/budgets`;
  const { data, error } = useQuery({
    queryKey: [accounts.path, path, user],
    queryFn: ({ signal }) => get<AccountBudgets>(path, user === '' ? {} : { user }, signal),
    enabled: has,
  });
  if (!has && !may) return null;
  const edit = may && (
    <Button icon={<Pencil className="size-4" aria-hidden />} onClick={() => setOpen(true)}>
      Edit budgets
    </Button>
  );
  const ofEach = typedBudgets(account.budgets).filter(({ kind }) => kind.startsWith('by '));
  return (
    <Section title="Budgets by user, tag and model" actions={edit}>
      <div className="flex flex-col gap-4">
        {!has && <p className="text-muted text-sm">No end user, tag or model has a separate budget.</p>}
        {ofEach.map((one) => (
          <p key={one.kind + timeText(one)} className="text-sm">
            {kinds[one.kind]}: {usd(Number(one.usd))} {timeText(one)}
          </p>
        ))}
        {ofEach.some(({ kind }) => kind === 'by user') && (
          <SearchInput value={user} onValue={setUser} label="Look up an end user" />
        )}
        {error !== null && <ErrorNote error={error} />}
        <ul className="grid gap-x-8 gap-y-4 sm:grid-cols-2 xl:grid-cols-3">
          {data?.data.map((one) => {
            const name = `${nameOf(one)} ${timeText({ time: one.window ?? `calendar ${one.calendar}`, time_zone: one.time_zone ?? '' })}`;
            return (
              <li key={name} className="flex flex-col gap-1.5">
                <div className="flex items-baseline justify-between gap-2 text-sm">
                  <span className="font-medium [overflow-wrap:anywhere]">{name}</span>
                  <span>
                    {usd(one.used)} <span className="text-muted">of {usd(one.allowed)}</span>
                  </span>
                </div>
                <Gauge label={name} share={one.allowed === 0 ? 1 : one.used / one.allowed} />
                <p className="text-muted text-xs">
                  {one.resets_at === null ? (
                    'Nothing used right now.'
                  ) : (
                    <>
                      Available again from <Moment at={one.resets_at} />
                    </>
                  )}
                </p>
              </li>
            );
          })}
        </ul>
      </div>
      <EditBudgets account={account} open={open} onClose={() => setOpen(false)} />
    </Section>
  );
}

function nameOf({ user, tag, model }: AccountBudgets['data'][number]): string {
  if (user !== undefined) return `User ${user}`;
  return tag !== undefined ? `Tag ${tag}` : `Model ${model}`;
}
