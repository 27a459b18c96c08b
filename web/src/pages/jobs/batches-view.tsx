import { useQueryClient } from '@tanstack/react-query';
import { Layers, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Ago, Count } from '../../parts/figures.tsx';
import { count } from '../../parts/format.ts';
import { Status, type Tone } from '../../parts/status.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { toast } from '../../parts/toast.tsx';
import { type Batch, useJobs } from './jobs-api.ts';
import { NewBatch } from './new-batch.tsx';
import { SaveButton } from './save-button.tsx';

const states: Record<Batch['status'], { tone: Tone; word: string }> = {
  validating: { tone: 'accent', word: 'Checked' },
  in_progress: { tone: 'accent', word: 'Running' },
  finalizing: { tone: 'accent', word: 'Finishing' },
  completed: { tone: 'ok', word: 'Done' },
  failed: { tone: 'bad', word: 'Failed' },
  expired: { tone: 'bad', word: 'Expired' },
  cancelling: { tone: 'warn', word: 'Cancelling' },
  cancelled: { tone: 'plain', word: 'Cancelled' },
};
const running = new Set<Batch['status']>(['validating', 'in_progress', 'finalizing', 'cancelling']);
const isRunning = ({ status }: Batch) => running.has(status);

/** Batches of a key, newest first. */
export function BatchesView({ caller }: { caller: Caller }) {
  const [making, setMaking] = useState(false);
  const [cancelling, setCancelling] = useState<string | null>(null);
  const client = useQueryClient();
  const pages = useJobs<Batch>(caller, '/v1/batches', isRunning);
  const columns: Column<Batch>[] = [
    {
      head: 'Batch',
      className: '[overflow-wrap:anywhere]',
      value: ({ id }) => id,
      cell: (batch) => (
        <>
          <span className="font-mono text-xs">{batch.id}</span>
          {batch.errors?.data.slice(0, 3).map(({ message, line }) => (
            <span key={`${line} ${message}`} className="block text-bad text-xs">
              {line === null ? '' : `Line ${line}: `}
              {message}
            </span>
          ))}
        </>
      ),
    },
    { head: 'Endpoint', from: 'md', value: ({ endpoint }) => endpoint, cell: ({ endpoint }) => endpoint },
    {
      head: 'State',
      value: ({ status }) => status,
      cell: ({ status }) => <Status tone={states[status].tone}>{states[status].word}</Status>,
    },
    {
      head: 'Requests',
      align: 'right',
      from: 'sm',
      value: ({ request_counts }) => request_counts.completed,
      cell: ({ request_counts: { completed, total } }) => `${count(completed)} of ${count(total)}`,
    },
    {
      head: 'Failed',
      align: 'right',
      from: 'sm',
      value: ({ request_counts }) => request_counts.failed,
      cell: ({ request_counts }) => <Count value={request_counts.failed} />,
    },
    {
      head: 'Started',
      align: 'right',
      from: 'md',
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Ago at={created_at * 1_000} />,
    },
    {
      head: 'Actions',
      align: 'right',
      cell: (batch) => (
        <span className="flex flex-wrap justify-end gap-1">
          {batch.output_file_id !== null && <Save caller={caller} id={batch.output_file_id} word="Answers" />}
          {batch.error_file_id !== null && <Save caller={caller} id={batch.error_file_id} word="Errors" />}
          {isRunning(batch) && batch.status !== 'cancelling' && (
            <Button size="row" onClick={() => setCancelling(batch.id)}>
              Cancel
            </Button>
          )}
        </span>
      ),
    },
  ];
  const make = (
    <Button look="main" icon={<Plus className="size-4" aria-hidden />} onClick={() => setMaking(true)}>
      New batch
    </Button>
  );
  return (
    <>
      {pages.rows !== undefined && pages.rows.length > 0 && <div className="flex justify-end">{make}</div>}
      <PagedTable
        label="Batches"
        columns={columns}
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<Layers />} title="This key has no batches." action={make}>
            A batch runs the requests of a file when there is capacity. Most providers charge less for it.
          </Empty>
        }
      />
      {making && <NewBatch caller={caller} onClose={() => setMaking(false)} />}
      <Confirm
        open={cancelling !== null}
        onClose={() => setCancelling(null)}
        title="Cancel this batch?"
        action="Cancel the batch"
        onConfirm={async () => {
          await call('POST', `/v1/batches/${cancelling}/cancel`, { headers: caller.headers });
          toast('The batch is being cancelled.');
          await client.invalidateQueries({ queryKey: ['/v1/batches'] });
        }}
      >
        Requests that have run keep their answers. The rest are not sent.
      </Confirm>
    </>
  );
}

interface SaveProps {
  caller: Caller;
  /** Id of the file. */
  id: string;
  word: string;
}

function Save({ caller, id, word }: SaveProps) {
  return (
    <SaveButton caller={caller} path={`/v1/files/${id}/content`} fileName={`${id}.jsonl`}>
      {word}
    </SaveButton>
  );
}
