import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Download, Printer } from 'lucide-react';
import { useState } from 'react';
import type { Statement } from '../../../../src/admin/statements/statement-schema.ts';
import { call, get, url } from '../../api/request.ts';
import { useMay, useMayAllAccounts } from '../../api/rights.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { Input } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Count } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { instant } from '../../parts/format.ts';
import { saveAnswer } from '../../parts/forms/save.ts';
import { useTyped } from '../../parts/forms/use-typed.ts';
import { Back, Page } from '../../parts/page.tsx';
import { localText } from '../../parts/ranges/range.ts';
import { useZone } from '../../parts/ranges/zone.ts';
import { Spend } from '../../parts/spend.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';

const path = '/admin/v1/statements';
/** Months that the API has. */
const monthPattern = /^20\d\d-(0[1-9]|1[0-2])$/;

/** Page of what each account used in a calendar month. */
export default function StatementsPage() {
  const [filters, setFilters] = useFilters<'month'>();
  const time_zone = useZone();
  const month = filters.month ?? lastMonth(time_zone);
  // A year is typed digit by digit.
  const { text, setText, take } = useTyped(month, (value) => setFilters({ month: value }));
  const query = { month, time_zone };
  const { data, error, refetch } = useQuery({
    queryKey: [path, query],
    queryFn: ({ signal }) => get<Statement>(path, query, signal),
  });
  return (
    <Page
      title="Statements"
      before={<Back to="/dashboard/usage" label="Usage" />}
      actions={
        <>
          <Button
            icon={<Download className="size-4" />}
            onClick={() => void saveAnswer(`${path}.csv`, query, `statement-${month}.csv`)}
          >
            CSV
          </Button>
          <a className={buttonClass()} href={url(`${path}.html`, query)} target="_blank" rel="noreferrer">
            <Printer className="size-4" aria-hidden /> Print or save as PDF
          </a>
          {data?.status === 'open' && <Close statement={data} />}
        </>
      }
      bar={
        <Input
          type="month"
          aria-label="Month"
          className="w-full sm:w-48"
          value={text}
          onChange={({ target: { value } }) => {
            setText(value);
            if (monthPattern.test(value)) take(value);
          }}
          onBlur={() => setText(month)}
        />
      }
    >
      {data !== undefined && <p className="text-muted text-sm">{stateOf(data)}</p>}
      <Table
        label="Statement by account"
        columns={columns}
        rows={data?.data}
        keyOf={({ account }) => account}
        to={({ account }) => `/dashboard/accounts/${encodeURIComponent(account)}`}
        error={error}
        retry={() => void refetch()}
        empty={<Empty title="There was no usage in this month.">Choose another month.</Empty>}
        footer={data !== undefined && data.data.length > 0 && <Total totals={data.totals} />}
      />
    </Page>
  );
}

const columns: Column<Statement['data'][number]>[] = [
  {
    head: 'Account',
    cell: ({ account, name }) => (
      <span className="[overflow-wrap:anywhere]">
        <span className="font-medium">{name}</span>
        {name !== account && <span className="ml-2 text-muted text-xs">{account}</span>}
      </span>
    ),
  },
  { head: 'Requests', align: 'right', from: 'sm', cell: ({ requests }) => <Count value={requests} /> },
  { head: 'Input tokens', align: 'right', from: 'md', cell: ({ input_tokens }) => <Count value={input_tokens} /> },
  { head: 'Output tokens', align: 'right', from: 'md', cell: ({ output_tokens }) => <Count value={output_tokens} /> },
  { head: 'Cost', align: 'right', cell: (row) => <Spend sum={row} /> },
];

function Total({ totals }: { totals: Statement['totals'] }) {
  return (
    <p className="border-line border-t px-4 py-2 text-right font-medium">
      Total: <Spend sum={totals} at="models" />
    </p>
  );
}

function stateOf({ status, time_zone, closed_at, closed_by }: Statement): string {
  if (status === 'closed') return `Closed ${instant(Date.parse(closed_at ?? ''))} by ${closed_by}, in ${time_zone}.`;
  return status === 'open'
    ? `Not closed yet: these are the current sums, in ${time_zone}.`
    : `This month is not over in ${time_zone}.`;
}

function Close({ statement: { month, time_zone } }: { statement: Statement }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const hasAll = useMayAllAccounts();
  if (!useMay('usage', 'write') || !hasAll) return null;
  return (
    <>
      <Button onClick={() => setAsking(true)}>Close the month</Button>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title={`Close ${month} in ${time_zone}?`}
        action="Close the month"
        onConfirm={async () => {
          await call('POST', `${path}/close`, { body: { month, time_zone } });
          await client.invalidateQueries({ queryKey: [path] });
        }}
      >
        Its statement never changes again, whatever is recalculated later. You cannot reopen it.
      </Confirm>
    </>
  );
}

/** The month before that of now in a zone. */
function lastMonth(zone: string): string {
  const [year = 0, number = 1] = localText(Date.now(), zone).split('-').map(Number);
  return new Date(Date.UTC(year, number - 2, 1)).toISOString().slice(0, 7);
}
