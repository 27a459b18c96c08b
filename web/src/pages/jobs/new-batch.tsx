import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { ApiError, call } from '../../api/request.ts';
import { FileInput, Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { toast } from '../../parts/toast.tsx';
import type { Document } from '../reference/open-api.ts';
import { bodySchemaOf, openApiQuery } from '../reference/open-api-query.ts';
import type { Batch, StoredFile } from './jobs-api.ts';

const usualEndpoint = '/v1/chat/completions';

/** Endpoints that batches may be for. */
function endpointsIn(document: Document): string[] {
  return (bodySchemaOf(document, 'POST /v1/batches').properties?.endpoint?.enum ?? []).map(String);
}

/** Uploads a file of requests and begins a batch of them. */
export function NewBatch({ caller, onClose }: { caller: Caller; onClose: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [endpoint, setEndpoint] = useState(usualEndpoint);
  const { data: endpoints = [usualEndpoint] } = useQuery({ ...openApiQuery, select: endpointsIn });
  /** The file that was uploaded for a batch that could not begin: it is not uploaded again. */
  const uploaded = useRef<{ file: File | null; id: string } | null>(null);
  const [cancelling] = useState(() => new AbortController());
  const cancel = () => {
    cancelling.abort();
    onClose();
  };
  const client = useQueryClient();
  const options = { headers: caller.headers, signal: cancelling.signal };
  const upload = async () => {
    if (file === null || uploaded.current?.file === file) return uploaded.current;
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', file);
    const { id } = await call<StoredFile>('POST', '/v1/files', { ...options, body: form });
    uploaded.current = { file, id };
    return uploaded.current;
  };
  const begin = useMutation({
    async mutationFn() {
      const input = await upload();
      const body = { input_file_id: input?.id, endpoint, completion_window: '24h' };
      return call<Batch>('POST', '/v1/batches', { ...options, body });
    },
    onError(error) {
      if (error instanceof ApiError && error.param === 'input_file_id') uploaded.current = null;
    },
    async onSuccess() {
      await Promise.all(['/v1/batches', '/v1/files'].map((path) => client.invalidateQueries({ queryKey: [path] })));
      toast('The batch has begun.');
      onClose();
    },
  });
  return (
    <Dialog open onClose={cancel} title="New batch" description={`It counts for the account ${caller.key.account}.`}>
      <ActionForm by={begin} onCancel={cancel} action="Begin" disabled={file === null}>
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
