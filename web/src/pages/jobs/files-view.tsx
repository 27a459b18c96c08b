import { useQueryClient } from '@tanstack/react-query';
import { File as FileIcon } from 'lucide-react';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Ago } from '../../parts/figures.tsx';
import { bytes } from '../../parts/format.ts';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { toast } from '../../parts/toast.tsx';
import { type StoredFile, useJobs } from './jobs-api.ts';
import { SaveButton } from './save-button.tsx';

/** Files of a key, newest first. */
export function FilesView({ caller }: { caller: Caller }) {
  const [deleting, setDeleting] = useState<StoredFile | null>(null);
  const client = useQueryClient();
  const pages = useJobs<StoredFile>(caller, '/v1/files');
  const columns: Column<StoredFile>[] = [
    {
      head: 'File',
      className: '[overflow-wrap:anywhere]',
      value: ({ filename }) => filename,
      cell: ({ id, filename }) => (
        <>
          <span className="font-medium">{filename}</span>
          <span className="block font-mono text-muted text-xs">{id}</span>
        </>
      ),
    },
    { head: 'Purpose', from: 'sm', value: ({ purpose }) => purpose, cell: ({ purpose }) => purpose },
    { head: 'Size', align: 'right', value: (file) => file.bytes, cell: (file) => bytes(file.bytes) },
    {
      head: 'Added',
      align: 'right',
      from: 'md',
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Ago at={created_at * 1_000} />,
    },
    {
      head: 'Removed',
      align: 'right',
      from: 'lg',
      value: ({ expires_at }) => expires_at,
      cell: ({ expires_at }) => <Ago at={expires_at * 1_000} />,
    },
    {
      head: 'Actions',
      align: 'right',
      cell: (file) => (
        <span className="flex flex-wrap justify-end gap-1">
          <SaveButton caller={caller} path={`/v1/files/${file.id}/content`} fileName={file.filename}>
            Download
          </SaveButton>
          <Button size="row" onClick={() => setDeleting(file)}>
            Delete
          </Button>
        </span>
      ),
    },
  ];
  return (
    <>
      <PagedTable
        label="Files"
        columns={columns}
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<FileIcon />} title="This key has no files.">
            Programs upload files with /v1/files. A batch writes its answers into one.
          </Empty>
        }
      />
      <Confirm
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        title={`Delete ${deleting?.filename}?`}
        action="Delete file"
        onConfirm={async () => {
          await call('DELETE', `/v1/files/${deleting?.id}`, { headers: caller.headers });
          toast('The file was deleted.');
          await client.invalidateQueries({ queryKey: ['/v1/files'] });
        }}
      >
        You cannot undo this. Culvert refuses while a batch is reading the file.
      </Confirm>
    </>
  );
}
