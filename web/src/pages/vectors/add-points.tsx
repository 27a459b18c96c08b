import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { FileInput, Input, Segments, TextArea } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Note } from '../../parts/error-note.tsx';
import { count, plural } from '../../parts/format.ts';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { jsonProblem } from '../../parts/forms/typed.ts';
import { newId } from '../../parts/new-id.ts';
import { toast } from '../../parts/toast.tsx';
import { CrawlForm } from '../tools/new-crawl.tsx';
import { collectionsKey, vectors } from './vectors-api.ts';

/** Points of one call; a long file goes in several. */
const batchMax = 100;

interface AddPointsProps {
  caller: Caller;
  /** Name of the collection. */
  name: string;
  path: string;
  onClose: () => void;
}

/** Adds pasted text, a file, or the pages of a crawl. */
export function AddPoints(props: AddPointsProps) {
  const { caller, name, onClose } = props;
  const [from, setFrom] = useState<'texts' | 'crawl'>('texts');
  const navigate = useNavigate();
  const follow = (crawl: string) =>
    void navigate({
      to: '/dashboard/tools',
      search: { tool: 'crawls', crawl, key: caller.key.id } as never,
      ignoreBlocker: true,
    });
  return (
    <Dialog open onClose={onClose} title={`Add points to ${name}`} width="wide">
      <div className="flex flex-col items-start gap-4 [&>form]:w-full">
        <Segments
          label="Input"
          value={from}
          options={[
            { value: 'texts', label: 'Paste or file' },
            { value: 'crawl', label: 'Crawl' },
          ]}
          onValue={setFrom}
        />
        {from === 'texts' ? (
          <Texts {...props} />
        ) : (
          <CrawlForm caller={caller} collection={name} onClose={onClose} onBegun={follow} />
        )}
      </div>
    </Dialog>
  );
}

function Texts({ caller, path, onClose }: AddPointsProps) {
  const [text, setText] = useState('');
  const [source, setSource] = useState('');
  // What failed goes on where it stopped: each of its points has its id already.
  const [begun, setBegun] = useState<{ points: unknown[]; added: number } | null>(null);
  const client = useQueryClient();
  const add = useMutation({
    async mutationFn() {
      const { points, added: from } = begun ?? { points: pointsIn(text, source), added: 0 };
      for (let added = from; added < points.length; added += batchMax) {
        setBegun({ points, added });
        await vectors(caller, 'POST', `${path}/points`, { points: points.slice(added, added + batchMax) });
      }
      return points.length;
    },
    onSuccess(added) {
      toast(`${plural(added, 'point')} added.`);
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: [collectionsKey] }),
  });
  const change = (set: (value: string) => void) => (value: string) => {
    setBegun(null);
    set(value);
  };
  const changeText = change(setText);
  const changeSource = change(setSource);
  const fault = problemIn(text);
  return (
    <ActionForm by={add} onCancel={onClose} action="Add" disabled={text.trim() === '' || fault !== null}>
      <Field
        name="points"
        label="Texts, or points as JSON"
        fault={fault}
        hint={'One text per line, or points as a JSON array or JSON lines: {"id", "payload", "vector"}.'}
      >
        <TextArea
          rows={10}
          className="max-h-[50dvh] w-full"
          value={text}
          disabled={add.isPending}
          onChange={(event) => changeText(event.target.value)}
        />
      </Field>
      <div className="grid gap-3 sm:grid-cols-2">
        <Field name="file" label="Or a file" hint="txt, md, json or jsonl.">
          <FileInput
            accept=".txt,.md,.json,.jsonl,text/plain,application/json"
            onChange={async (event) => {
              const file = event.target.files?.[0];
              if (file === undefined) return;
              changeText(await file.text());
              changeSource(file.name);
            }}
          />
        </Field>
        <Field name="source" label="Source" hint="Added to the payload of each text, so that you can filter by it.">
          <Input value={source} onChange={(event) => changeSource(event.target.value)} />
        </Field>
      </div>
      {begun !== null && begun.added > 0 && (
        <Note tone="plain">
          {count(begun.added)} of {plural(begun.points.length, 'point')} are added
          {add.error !== null && '. “Add” continues with the rest, and the message counts from there'}.
        </Note>
      )}
    </ActionForm>
  );
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Points, one or an array of them, or one a line; any other text is texts. */
function isJson(text: string): boolean {
  return /^\s*(\[\s*)?\{/.test(text);
}

function problemIn(text: string): string | null {
  if (!isJson(text)) return null;
  const fault = jsonProblem(text);
  if (fault === null) return null;
  const lines = linesOf(text);
  const at = lines.findIndex((line) => jsonProblem(line) !== null);
  return at === -1 ? null : lines.length > 1 && at > 0 ? `Point ${at + 1}: ${jsonProblem(lines[at]!)}` : fault;
}

function pointsIn(text: string, source: string): unknown[] {
  if (!isJson(text)) {
    const more = source === '' ? {} : { source };
    return linesOf(text).map((line) => ({ id: newId(), payload: { text: line, ...more } }));
  }
  if (jsonProblem(text) !== null) return linesOf(text).map((line) => JSON.parse(line));
  const parsed: unknown = JSON.parse(text);
  return Array.isArray(parsed) ? parsed : [parsed];
}
