import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { call } from '../../api/request.ts';
import { FileInput, Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { toast } from '../../parts/toast.tsx';
import type { Batch, StoredFile } from './jobs-api.ts';

const endpoints = ['/v1/chat/completions', '/v1/responses', '/v1/embeddings', '/v1/completions'];

/** Uploads a file of requests and begins a batch of them. */
export function NewBatch({ caller, onClose }: { caller: Caller; onClose: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [endpoint, setEndpoint] = useState('/v1/chat/completions');
  const client = useQueryClient();
  const { headers } = caller;
  const begin = useMutation({
    async mutationFn() {
      const form = new FormData();
      form.set('purpose', 'batch');
      if (file !== null) form.set('file', file);
      const { id } = await call<StoredFile>('POST', '/v1/files', { headers, body: form });
      const body = { input_file_id: id, endpoint, completion_window: '24h' };
      return call<Batch>('POST', '/v1/batches', { headers, body });
    },
    async onSuccess() {
      await Promise.all(['/v1/batches', '/v1/files'].map((path) => client.invalidateQueries({ queryKey: [path] })));
      toast('The batch has begun.');
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title="New batch" description={`It counts for the account ${caller.key.account}.`}>
      <ActionForm by={begin} onCancel={onClose} action="Begin" disabled={file === null}>
        <Field name="file" label="Requests" hint={'A JSON object per line: {"custom_id", "method", "url", "body"}.'}>
          <FileInput
            accept=".jsonl,.ndjson,application/jsonl,application/x-ndjson"
            onChange={({ target }) => setFile(target.files?.[0] ?? null)}
          />
        </Field>
        <Field name="endpoint" label="Endpoint" hint="All requests of a batch go to the same one.">
          <Select value={endpoint} onChange={({ target }) => setEndpoint(target.value)}>
            {endpoints.map((path) => (
              <option key={path}>{path}</option>
            ))}
          </Select>
        </Field>
      </ActionForm>
    </Dialog>
  );
}
