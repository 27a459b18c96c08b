import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { AccountReply } from '../../../../src/admin/entries/accounts.ts';
import { accounts } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Input, Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { ChangedMeanwhile, currentOf } from '../../parts/forms/changed-meanwhile.tsx';
import { Field, OtherControls } from '../../parts/forms/form.tsx';
import { numberOrText } from '../../parts/forms/typed.ts';
import { toast } from '../../parts/toast.tsx';

export const kinds = {
  'by user': 'Each end user',
  user: 'User',
  'by tag': 'Each tag',
  tag: 'Tag',
  'by model': 'Each model',
  model: 'Model',
} as const;

const times = {
  '5h': 'in 5 hours',
  week: 'in 7 days',
  month: 'in 30 days',
  'calendar day': 'per day',
  'calendar week': 'per calendar week',
  'calendar month': 'per calendar month',
} as const;

interface TypedBudget {
  /** For the page alone. */
  id: number;
  kind: keyof typeof kinds;
  name: string;
  usd: string;
  time: string;
  time_zone: string;
}

export function timeText({ time, time_zone }: Pick<TypedBudget, 'time' | 'time_zone'>): string {
  const words = times[time as keyof typeof times] ?? time;
  return time.startsWith('calendar') ? `${words} (${time_zone || 'UTC'})` : words;
}

export function typedBudgets(budgets: AccountReply['budgets']): TypedBudget[] {
  return budgets.map((budget, id) => {
    const given = budget as Partial<Record<string, string>>;
    const kind = (['user', 'tag', 'model'] as const).find((one) => given[one] !== undefined);
    return {
      id,
      kind: kind ?? (`by ${given.by}` as keyof typeof kinds),
      name: kind === undefined ? '' : (given[kind] ?? ''),
      usd: String(budget.usd),
      time: given.window ?? `calendar ${given.calendar}`,
      time_zone: given.time_zone ?? '',
    };
  });
}

function written({ kind, name, usd, time, time_zone }: TypedBudget) {
  const isEach = kind.startsWith('by ');
  const isCalendar = time.startsWith('calendar ');
  return {
    ...(isEach ? { by: kind.slice(3) } : { [kind]: name }),
    usd: numberOrText(usd),
    ...(isCalendar ? { calendar: time.slice('calendar '.length) } : { window: time }),
    ...(isCalendar && time_zone !== '' && { time_zone }),
  };
}

interface EditBudgetsProps {
  account: AccountReply;
  open: boolean;
  onClose: () => void;
}

/** Budgets by end user, tag and model, one a row. */
export function EditBudgets({ account, open, onClose }: EditBudgetsProps) {
  return (
    <Dialog open={open} onClose={onClose} title={`Budgets within ${account.name}`} width="wide">
      <EditForm account={account} onClose={onClose} />
    </Dialog>
  );
}

function EditForm({ account, onClose }: Omit<EditBudgetsProps, 'open'>) {
  // The form's initial value: another person's change is not overwritten unseen.
  const [before, setBefore] = useState(account);
  const [rows, setRows] = useState(() => typedBudgets(account.budgets));
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () =>
      call<AccountReply>('PATCH', accounts.addressOf(account.id), {
        body: { budgets: rows.map(written), version: before.version },
      }),
    async onSuccess({ warnings }) {
      await client.invalidateQueries();
      toast('Saved. The budgets apply at once.', warnings);
      onClose();
    },
  });
  const current = currentOf<AccountReply>(change.error);
  const facts = (budgets: readonly TypedBudget[]) => ({ budgets: budgets.map(written) });
  const set = (id: number, next: Partial<TypedBudget>) =>
    setRows(rows.map((row) => (row.id === id ? { ...row, ...next } : row)));
  const add = () => {
    const id = Math.max(0, ...rows.map((row) => row.id)) + 1;
    setRows([...rows, { id, kind: 'by user', name: '', usd: '', time: 'month', time_zone: '' }]);
  };
  return (
    <ActionForm
      by={change}
      onCancel={onClose}
      action="Save"
      conflict={
        current !== null && (
          <ChangedMeanwhile
            before={facts(typedBudgets(before.budgets))}
            theirs={facts(typedBudgets(current.budgets))}
            yours={facts(rows)}
            onGoOn={({ budgets }) => {
              setBefore(current);
              setRows(typedBudgets(budgets as AccountReply['budgets']));
              change.reset();
            }}
          />
        )
      }
    >
      <p className="text-muted text-sm">
        They count in addition to the plan. A budget for a named user, tag or model replaces the one for each, for the
        same period.
      </p>
      {rows.map((row, at) => (
        <Row
          key={row.id}
          row={row}
          at={at}
          onChange={(next) => set(row.id, next)}
          onRemove={() => setRows(rows.filter(({ id }) => id !== row.id))}
        />
      ))}
      <div>
        <Button data-changes icon={<Plus className="size-4" aria-hidden />} onClick={add}>
          Add a budget
        </Button>
      </div>
    </ActionForm>
  );
}

interface RowProps {
  row: TypedBudget;
  at: number;
  onChange: (next: Partial<TypedBudget>) => void;
  onRemove: () => void;
}

function Row({ row: { kind, name, usd, time, time_zone }, at, onChange, onRemove }: RowProps) {
  const nth = `of budget ${at + 1}`;
  return (
    <Field name={`budgets[${at}]`} label={<span className="sr-only">Budget {at + 1}</span>}>
      <div className="flex flex-wrap items-center gap-2">
        <OtherControls>
          <Select
            className="w-36"
            aria-label={`Budget ${nth} is for`}
            value={kind}
            onChange={({ target }) => onChange({ kind: target.value as TypedBudget['kind'] })}
          >
            {Object.entries(kinds).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </Select>
          {!kind.startsWith('by ') && (
            <Input
              className="w-36"
              aria-label={`Name ${nth}`}
              placeholder={kind === 'model' ? 'such as gpt-*' : 'Name'}
              spellCheck={false}
              value={name}
              onChange={({ target }) => onChange({ name: target.value })}
            />
          )}
        </OtherControls>
        <Input
          className="w-24"
          aria-label={`USD ${nth}`}
          placeholder="USD"
          inputMode="decimal"
          value={usd}
          onChange={({ target }) => onChange({ usd: target.value })}
        />
        <OtherControls>
          <Select
            className="w-44"
            aria-label={`Time ${nth}`}
            value={time}
            onChange={({ target }) => onChange({ time: target.value })}
          >
            {Object.entries(times).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </Select>
          {time.startsWith('calendar ') && (
            <Input
              className="w-40"
              aria-label={`Time zone ${nth}`}
              placeholder="UTC"
              spellCheck={false}
              value={time_zone}
              onChange={({ target }) => onChange({ time_zone: target.value })}
            />
          )}
          <Button
            data-changes
            icon={<Trash2 className="size-4" aria-hidden />}
            aria-label={`Remove budget ${at + 1}`}
            onClick={onRemove}
          />
        </OtherControls>
      </div>
    </Field>
  );
}
