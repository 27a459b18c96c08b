import { useState } from 'react';
import type { NoticesReply } from '../../../../src/admin/notices.ts';
import { usePages } from '../../api/pages.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Moment } from '../../parts/figures.tsx';
import { instant } from '../../parts/format.ts';
import { Badge, type Tone } from '../../parts/status.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';

type NoticeRow = NoticesReply['data'][number];

const states: Readonly<Record<NoticeRow['state'], { tone: Tone; label: string }>> = {
  waiting: { tone: 'warn', label: 'waiting' },
  delivered: { tone: 'ok', label: 'delivered' },
  given_up: { tone: 'bad', label: 'given up' },
  dropped: { tone: 'bad', label: 'dropped' },
};

/** Alerts and quota notices of the last 30 days, newest first, and whether they arrived. */
export function NoticeHistory() {
  const pages = usePages<NoticeRow>('/admin/v1/notices', {}, { everyMs: 10_000, inUrl: true });
  const [shown, setShown] = useState<NoticeRow | null>(null);
  const columns: Column<NoticeRow>[] = [
    { head: 'Time', cell: ({ created_at }) => <Moment at={created_at} />, className: 'w-px' },
    { head: 'Receiver', cell: ({ receiver }) => <span className="[overflow-wrap:anywhere]">{receiver}</span> },
    { head: 'Message', cell: ({ subject }) => <span className="[overflow-wrap:anywhere]">{subject}</span> },
    {
      head: 'State',
      value: ({ state }) => states[state].label,
      cell: ({ state, reason }) => (
        <Badge tone={states[state].tone} {...(reason !== null && { title: reason })}>
          {states[state].label}
        </Badge>
      ),
      className: 'w-px',
    },
    { head: 'Tries', from: 'lg', align: 'right', value: ({ tries }) => tries, cell: ({ tries }) => tries },
    {
      head: 'Details',
      kind: 'actions',
      align: 'right',
      className: 'w-px',
      cell: (row) => (
        <Button look="quiet" size="row" onClick={() => setShown(row)}>
          Show
        </Button>
      ),
    },
  ];
  return (
    <>
      <PagedTable
        label="History of alerts"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No alert or notice was sent in the last 30 days.">
            Alerts and quota notices appear here, with their delivery status.
          </Empty>
        }
      />
      {shown !== null && <NoticeDialog notice={shown} onClose={() => setShown(null)} />}
    </>
  );
}

function NoticeDialog({ notice, onClose }: { notice: NoticeRow; onClose: () => void }) {
  const { receiver, created_at, reason, next_try_at, message, subject } = notice;
  return (
    <Dialog
      open
      onClose={onClose}
      width="wide"
      title={subject}
      description={`To ${receiver}, ${instant(Date.parse(created_at))}`}
    >
      {reason !== null && (
        <p className="mb-2 text-bad text-sm [overflow-wrap:anywhere]">
          {reason}
          {next_try_at !== null && ` The next try is at ${instant(Date.parse(next_try_at))}.`}
        </p>
      )}
      <pre className="max-h-96 overflow-auto rounded bg-hover p-3 font-mono text-xs">
        {JSON.stringify(message, null, 2)}
      </pre>
    </Dialog>
  );
}
