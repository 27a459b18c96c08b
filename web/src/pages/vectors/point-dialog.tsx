import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { ApiError } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { TextArea } from '../../parts/controls.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { plural } from '../../parts/format.ts';
import { ChangedMeanwhile, currentOf, type Written } from '../../parts/forms/changed-meanwhile.tsx';
import { Field, Form } from '../../parts/forms/form.tsx';
import { jsonProblem } from '../../parts/forms/typed.ts';
import { Read } from '../../parts/read.tsx';
import { toast } from '../../parts/toast.tsx';
import { collectionsKey, type Point, type VectorKind, vectors } from './vectors-api.ts';

interface PointDialogProps {
  caller: Caller;
  /** Path of the collection. */
  path: string;
  kinds: readonly VectorKind[];
  id: string;
  onClose: () => void;
}

/** Everything that a point holds; its payload can be changed, and the point deleted. */
export function PointDialog({ caller, path, kinds, id, onClose }: PointDialogProps) {
  const [deleting, setDeleting] = useState(false);
  const client = useQueryClient();
  const query = useQuery({
    queryKey: [collectionsKey, caller.key.id, path, 'point', id],
    queryFn: ({ signal }) => readPoint(caller, path, id, signal),
    // A refresh must not replace typed text.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const { data } = query;
  return (
    <>
      <Dialog open onClose={onClose} title={`Point ${id}`} place="side">
        <Read query={query}>
          {(point) => (
            <div className="flex flex-col gap-5">
              <PayloadForm
                caller={caller}
                path={path}
                kinds={kinds}
                point={point}
                onSaved={onClose}
                onDelete={() => setDeleting(true)}
              />
              <Vectors vector={point.vector} />
            </div>
          )}
        </Read>
      </Dialog>
      {data !== undefined && (
        <Confirm
          open={deleting}
          onClose={() => setDeleting(false)}
          title={`Delete the point ${id}?`}
          action="Delete point"
          onConfirm={async () => {
            await vectors(caller, 'POST', `${path}/points/delete`, { points: [data.id] });
            onClose();
            toast(`The point ${id} was deleted.`);
            await client.invalidateQueries({ queryKey: [collectionsKey] });
          }}
        >
          This deletes its payload and its vectors. You cannot undo it.
        </Confirm>
      )}
    </>
  );
}

function readPoint(caller: Caller, path: string, id: string | number, signal?: AbortSignal): Promise<Point> {
  return vectors(caller, 'GET', `${path}/points/${encodeURIComponent(id)}`, undefined, signal);
}

interface PayloadFormProps extends Pick<PointDialogProps, 'caller' | 'path' | 'kinds'> {
  point: Point;
  onSaved: () => void;
  onDelete: () => void;
}

function PayloadForm({ caller, path, kinds, point: { id, payload: read }, onSaved, onDelete }: PayloadFormProps) {
  const [payload, setPayload] = useState<Written>(read ?? {});
  const before = textOf(payload);
  const [text, setText] = useState(before);
  const client = useQueryClient();
  const embedded = kinds.filter(({ model }) => model !== null);
  const fault = jsonProblem(text) ?? (/^\s*\{/.test(text) ? null : 'Expected an object, such as {}.');
  const save = useMutation({
    async mutationFn() {
      // Points have no version: the present point is compared with the one that was read.
      const current = (await readPoint(caller, path, id)).payload ?? {};
      if (textOf(sorted(current)) !== textOf(sorted(payload))) throw new ApiError(409, { current });
      const after: unknown = JSON.parse(text);
      const typedText = textIn(after);
      const anew = embedded.length > 0 && typedText !== null && typedText !== textIn(payload);
      const operations = [
        { overwrite_payload: { payload: after, points: [id] } },
        // A payload alone leaves vectors unchanged.
        ...(anew ? [{ update_vectors: { points: [{ id, vector: vectorOf(embedded, typedText) }] } }] : []),
      ];
      return vectors(caller, 'POST', `${path}/points/batch`, { operations });
    },
    async onSuccess() {
      toast(`The point ${id} was saved.`);
      onSaved();
      await client.invalidateQueries({ queryKey: [collectionsKey] });
    },
  });
  const current = currentOf<Written>(save.error);
  return (
    <Form
      error={current === null ? save.error : null}
      onSubmit={() => save.mutate()}
      footer={
        <>
          <Button look="danger" icon={<Trash2 className="size-4" aria-hidden />} onClick={onDelete}>
            Delete
          </Button>
          <span className="flex-1" />
          <Button
            type="submit"
            look="main"
            busy={save.isPending}
            disabled={text === before || fault !== null || current !== null}
          >
            Save
          </Button>
        </>
      }
    >
      {current !== null && (
        <ChangedMeanwhile
          before={payload}
          theirs={current}
          yours={JSON.parse(text) as Written}
          onGoOn={(next) => {
            setPayload(current);
            setText(textOf(next));
            save.reset();
          }}
        />
      )}
      {/* Of the call that saves both. */}
      <Field
        name="operations"
        label="Payload"
        fault={fault}
        hint={embedded.length > 0 ? 'A changed text is embedded again.' : 'The vectors stay as they are.'}
      >
        <TextArea
          rows={8}
          spellCheck={false}
          className="field-sizing-content max-h-[50dvh] min-h-40 w-full font-mono"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </Field>
    </Form>
  );
}

function textOf(payload: Written): string {
  return JSON.stringify(payload, null, 2);
}

/** A store may give members in any order. */
function sorted(payload: Written): Written {
  return Object.fromEntries(Object.entries(payload).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Text of a payload to embed; null for none. */
function textIn(payload: unknown): string | null {
  const text = typeof payload === 'object' && payload !== null && 'text' in payload ? payload.text : null;
  return typeof text === 'string' && text !== '' ? text : null;
}

/** The vectors of a point: by name, unless it has only one, without a name. */
function vectorOf(kinds: readonly VectorKind[], text: string): object {
  if (kinds.length === 1 && kinds[0]!.name === '') return { text };
  return Object.fromEntries(kinds.map(({ name }) => [name, { text }]));
}

function Vectors({ vector }: { vector: unknown }) {
  const named = typeof vector === 'object' && vector !== null && !Array.isArray(vector);
  const all = Object.entries(named ? vector : { '': vector });
  return (
    <section className="flex flex-col gap-2 text-sm" aria-label="Vectors">
      <h3 className="font-medium">{all.length === 1 ? 'Vector' : 'Vectors'}</h3>
      {all.length === 0 && <p className="text-muted">This point has no vectors.</p>}
      {all.map(([name, value]) => (
        <details key={name}>
          <summary className="cursor-default">
            {name} <span className="text-muted">{lengthOf(value)}</span>
          </summary>
          <div className="mt-2">
            <Code text={JSON.stringify(value)} label="Vector" wrap />
          </div>
        </details>
      ))}
    </section>
  );
}

/** `1,024 dimensions`, `3 vectors of 128 dimensions`, `12 numbers that are not 0`. */
function lengthOf(value: unknown): string {
  if (Array.isArray(value)) {
    const [first] = value as unknown[];
    if (!Array.isArray(first)) return plural(value.length, 'dimension');
    return `${plural(value.length, 'vector')} of ${plural(first.length, 'dimension')}`;
  }
  const { indices } = value as { indices: unknown[] };
  return `${plural(indices.length, 'number')} that ${indices.length === 1 ? 'is' : 'are'} not 0`;
}
