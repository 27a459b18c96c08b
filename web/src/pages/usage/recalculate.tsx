import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Recalculation } from '../../../../src/admin/usage/recalculate.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Select } from '../../parts/controls.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { exactUsd, plural } from '../../parts/format.ts';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import type { SpanQuery } from '../../parts/ranges/range.ts';
import { toast } from '../../parts/toast.tsx';

interface RecalculateProps {
  /** The span that the page shows. */
  span: SpanQuery;
  account: string | undefined;
  model: string | undefined;
  onDone: () => void;
}

/** Says what the prices of today would make of past requests, and changes them. */
export function Recalculate({ span, account, model, onDone }: RecalculateProps) {
  const client = useQueryClient();
  const [fields, field] = useFields({ requests: 'unpriced' });
  const body = { ...span, account, model, requests: fields.requests };
  const preview = useMutation({ mutationFn: () => wholeSpan({ ...body, apply: false }) });
  const apply = useMutation({
    // The very span that the preview saw.
    mutationFn: (seen: Recalculation) => wholeSpan({ ...body, from: seen.from, to: seen.to, apply: true }),
    async onSuccess({ requests }) {
      toast(`${plural(requests, 'request')} recalculated.`);
      await client.invalidateQueries();
      onDone();
    },
  });
  const seen = preview.data;
  const busy = preview.isPending || apply.isPending;
  return (
    <div className="flex flex-col gap-4">
      <Field
        name="requests"
        label="Requests"
        hint={`Of the range of the page${account === undefined ? '' : `, of ${account}`}${model === undefined ? '' : `, for ${model}`}.`}
      >
        <Select {...field('requests')} disabled={busy || seen !== undefined}>
          <option value="unpriced">Those without a price</option>
          <option value="all">All, including those charged at another price</option>
        </Select>
      </Field>
      {seen !== undefined && <Seen seen={seen} />}
      {(preview.error ?? apply.error) !== null && <ErrorNote error={(preview.error ?? apply.error) as Error} />}
      <div className="flex justify-end gap-2">
        {seen === undefined ? (
          <Button look="main" busy={busy} onClick={() => preview.mutate()}>
            Preview
          </Button>
        ) : (
          <Button look="main" busy={busy} disabled={seen.requests === 0} onClick={() => apply.mutate(seen)}>
            Recalculate {plural(seen.requests, 'request')}
          </Button>
        )}
      </div>
    </div>
  );
}

function Seen({ seen }: { seen: Recalculation }) {
  const { requests, unpriced_requests, old_usd, new_usd, still_unpriced, unclear } = seen;
  return (
    <div role="status" className="flex flex-col gap-1 text-sm">
      <p>
        {requests === 0
          ? 'No cost would change.'
          : `${plural(requests, 'request')}: ${exactUsd(old_usd)} → ${exactUsd(new_usd)}. ${unpriced_requests} of them had no price.`}
      </p>
      {still_unpriced > 0 && (
        <p className="text-muted">{plural(still_unpriced, 'request')} still without a price: set one at the model.</p>
      )}
      {unclear > 0 && (
        <p className="text-muted">
          {plural(unclear, 'request')} keep their cost, because it is the sum of several calls.
        </p>
      )}
      <p className="text-muted">Budgets do not change. The audit log keeps both sums.</p>
    </div>
  );
}

const summed = [
  'looked_at',
  'requests',
  'unpriced_requests',
  'still_unpriced',
  'unclear',
  'old_usd',
  'new_usd',
] as const;

/** Call by call, since each looks at some of the span. */
async function wholeSpan(body: Record<string, unknown>): Promise<Recalculation> {
  const ask = (more: object) =>
    call<Recalculation>('POST', '/admin/v1/usage/recalculate', { body: { ...body, ...more } });
  const sum = await ask({});
  while (sum.next_cursor !== null) {
    const next = await ask({ from: sum.from, to: sum.to, cursor: sum.next_cursor });
    for (const name of summed) sum[name] = Math.round((sum[name] + next[name]) * 1e9) / 1e9;
    sum.next_cursor = next.next_cursor;
  }
  return sum;
}
