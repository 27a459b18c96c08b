import { useMutation, useQuery } from '@tanstack/react-query';
import { Scale } from 'lucide-react';
import { useState } from 'react';
import type { AgreementReply } from '../../../../src/admin/observed/agreement.ts';
import type { SavingsReply } from '../../../../src/admin/observed/savings.ts';
import { models, rules } from '../../api/entries.ts';
import { call, get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Select } from '../../parts/controls.tsx';
import { Note } from '../../parts/error-note.tsx';
import { Count, Money, None } from '../../parts/figures.tsx';
import { percent, plural } from '../../parts/format.ts';
import { Field, Form } from '../../parts/forms/form.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { Read } from '../../parts/read.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';

type Row = SavingsReply['classes'][number];

/** Savings that a rule that observes would have made, and whether its answers would have been as good. */
export function Savings({ rule }: { rule: string }) {
  const mayRead = useMay('usage', 'read');
  const mayCompare = useMay('requests', 'write');
  const [from, setFrom] = useState('7d');
  const path = `${rules.addressOf(rule)}/savings`;
  const query = useQuery({
    queryKey: [path, from],
    queryFn: ({ signal }) => get<SavingsReply>(path, { from }, signal),
    enabled: mayRead,
  });
  if (!mayRead) return null;
  return (
    <Section
      title="What it would have saved"
      actions={
        <Select
          aria-label="Requests since"
          className="w-auto"
          value={from}
          onChange={({ target }) => setFrom(target.value)}
        >
          <option value="24h">Last 24 hours</option>
          <option value="7d">Last 7 days</option>
          <option value="30d">Last 30 days</option>
        </Select>
      }
    >
      <Read query={query}>{(reply) => <Sums reply={reply} />}</Read>
      {mayCompare && <Compare rule={rule} from={from} />}
    </Section>
  );
}

function Sums({ reply }: { reply: SavingsReply }) {
  const { saved_usd, was_usd, unpriced, unanswered, classes, next_cursor, looked_at } = reply;
  return (
    <div className="flex flex-col gap-3">
      <Facts>
        <Fact name="Saved">
          <Money value={saved_usd} /> of <Money value={was_usd} />
        </Fact>
        {unpriced > 0 && <Fact name="Without a price">{plural(unpriced, 'request')}, left out</Fact>}
        {unanswered > 0 && <Fact name="Not answered by a model">{plural(unanswered, 'request')}, left out</Fact>}
      </Facts>
      {next_cursor !== null && (
        <Note tone="plain">Of the newest {plural(looked_at, 'request')}. `culvert routes savings` counts all.</Note>
      )}
      <Table
        label="Savings by class"
        columns={columns}
        rows={classes}
        keyOf={({ model }) => model ?? ''}
        empty="It observed no request in this time."
      />
    </div>
  );
}

const columns: readonly Column<Row>[] = [
  {
    head: 'Class',
    value: ({ model }) => model ?? 'none',
    cell: ({ model, would }) => (
      <>
        {model ?? <span className="text-muted">none was near</span>}
        {model === null && <div className="text-muted text-xs">{would.join(', ')}</div>}
      </>
    ),
  },
  {
    head: 'Requests',
    align: 'right',
    value: ({ requests }) => requests,
    cell: (row) => <Count value={row.requests} />,
  },
  {
    head: 'Cost',
    from: 'sm',
    align: 'right',
    value: (row) => row.was_usd,
    cell: (row) => <Money value={row.was_usd} />,
  },
  {
    head: 'Would be',
    from: 'sm',
    align: 'right',
    value: (row) => row.would_usd,
    cell: (row) => (row.priced === 0 ? <None /> : <Money value={row.would_usd} />),
  },
  {
    head: 'Saved',
    align: 'right',
    value: (row) => row.saved_usd,
    cell: (row) => (row.priced === 0 ? <None /> : <Money value={row.saved_usd} />),
  },
];

/** Asks a judge about kept requests. */
function Compare({ rule, from }: { rule: string; from: string }) {
  const [judge, setJudge] = useState('');
  const run = useMutation({
    mutationFn: () =>
      call<AgreementReply>('POST', `${rules.addressOf(rule)}/agreement`, { body: { judge, from, limit: 10 } }),
  });
  return (
    <div className="mt-4 flex flex-col gap-3">
      <Form
        error={run.error}
        onSubmit={() => run.mutate()}
        footer={
          <Button type="submit" icon={<Scale className="size-4" />} busy={run.isPending} disabled={judge.trim() === ''}>
            Compare ten answers
          </Button>
        }
      >
        <Field
          name="judge"
          label="Judge"
          hint="A model. Kept requests are asked again at the model of their class, and the judge compares both answers. This server pays for three calls a request."
        >
          <SuggestInput from={models.path} field="id" value={judge} onChange={({ target }) => setJudge(target.value)} />
        </Field>
      </Form>
      {run.data !== undefined && <Agreement reply={run.data} />}
    </div>
  );
}

function Agreement({ reply }: { reply: AgreementReply }) {
  const { agreement, compared, better, equal, worse, unclear, failed, not_kept, not_allowed } = reply;
  return (
    <div aria-live="polite">
      <Facts>
        <Fact name="Equal or better">
          {agreement === null ? 'nothing could be compared' : `${percent(agreement)} of ${plural(compared, 'answer')}`}
        </Fact>
        {compared > 0 && (
          <Fact name="Verdicts">
            {better} better, {equal} equal, {worse} worse
          </Fact>
        )}
        {not_kept > 0 && <Fact name="Without a kept body">{plural(not_kept, 'request')}</Fact>}
        {failed > 0 && <Fact name="Not answered">{plural(failed, 'request')}</Fact>}
        {unclear > 0 && <Fact name="Judge did not decide">{plural(unclear, 'request')}</Fact>}
        {not_allowed > 0 && <Fact name="Callers with data rules, or gone">{plural(not_allowed, 'request')}</Fact>}
      </Facts>
    </div>
  );
}
