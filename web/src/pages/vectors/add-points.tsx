import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Input, Segments, TextArea } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { plural } from '../../parts/format.ts';
import { toast } from '../../parts/toast.tsx';
import { vectors } from './vectors-api.ts';

/** Points of one call; a long file goes in several. */
const batchMax = 100;

interface AddPointsProps {
  caller: Caller;
  /** Of the collection. */
  name: string;
  path: string;
  onClose: () => void;
}

/** Adds what is pasted, a file, or the pages of a crawl. */
export function AddPoints(props: AddPointsProps) {
  const [from, setFrom] = useState<'texts' | 'crawl'>('texts');
  return (
    <Dialog open onClose={props.onClose} title="Add points" width="wide">
      <div className="flex flex-col items-start gap-4 [&>form]:w-full">
        <Segments
          label="Where from"
          value={from}
          options={[
            { value: 'texts', label: 'Paste or file' },
            { value: 'crawl', label: 'Crawl' },
          ]}
          onValue={setFrom}
        />
        {from === 'texts' ? <Texts {...props} /> : <Crawl {...props} />}
      </div>
    </Dialog>
  );
}

function Texts({ caller, path, onClose }: AddPointsProps) {
  const [text, setText] = useState('');
  const [source, setSource] = useState('');
  const client = useQueryClient();
  const add = useMutation({
    async mutationFn() {
      const points = pointsIn(text, source);
      for (let at = 0; at < points.length; at += batchMax) {
        await vectors(caller, 'POST', `${path}/points`, { points: points.slice(at, at + batchMax) });
      }
      return points.length;
    },
    async onSuccess(added) {
      await client.invalidateQueries({ queryKey: ['/v1/vectors/collections'] });
      toast(`${plural(added, 'point')} added.`);
      onClose();
    },
  });
  return (
    <Form
      error={add.error}
      onSubmit={() => add.mutate()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" busy={add.isPending} disabled={text.trim() === ''}>
            Add
          </Button>
        </>
      }
    >
      <Field
        name="points"
        label="Texts, or points as JSON"
        hint={'A text each line, or an array or lines of {"id", "payload", "vector"}.'}
      >
        {(control) => (
          <TextArea
            {...control}
            rows={10}
            className="max-h-[50dvh] w-full"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </Field>
      <div className="grid gap-3 sm:grid-cols-2">
        <Field name="file" label="Or a file" hint="txt, md, json or jsonl.">
          {(control) => (
            <input
              {...control}
              type="file"
              accept=".txt,.md,.json,.jsonl,text/plain,application/json"
              className="text-sm"
              onChange={async (event) => {
                const file = event.target.files?.[0];
                if (file === undefined) return;
                setText(await file.text());
                setSource(file.name);
              }}
            />
          )}
        </Field>
        <Field name="source" label="Source" hint="Goes into the payload of texts, to filter by.">
          {(control) => <Input {...control} value={source} onChange={(event) => setSource(event.target.value)} />}
        </Field>
      </div>
    </Form>
  );
}

function Crawl({ caller, name, onClose }: AddPointsProps) {
  const [address, setAddress] = useState('');
  const [limit, setLimit] = useState('50');
  const crawl = useMutation({
    mutationFn: () =>
      call('POST', '/v1/tools/crawl', {
        headers: caller.headers,
        body: { url: address, limit: Number(limit), collection: name },
      }),
    onSuccess() {
      toast('The crawl has begun. Its pages appear as they come.');
      onClose();
    },
  });
  return (
    <Form
      error={crawl.error}
      onSubmit={() => crawl.mutate()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" busy={crawl.isPending} disabled={address === ''}>
            Begin
          </Button>
        </>
      }
    >
      <Field name="url" label="Address" hint="Pages that it leads to are read too; each costs as a crawled page.">
        {(control) => (
          <Input
            {...control}
            inputMode="url"
            placeholder="https://"
            value={address}
            onChange={(event) => setAddress(event.target.value.trim())}
          />
        )}
      </Field>
      <Field name="limit" label="Most pages">
        {(control) => (
          <Input
            {...control}
            inputMode="numeric"
            className="w-32"
            value={limit}
            onChange={(event) => setLimit(event.target.value)}
          />
        )}
      </Field>
    </Form>
  );
}

function pointsIn(text: string, source: string): unknown[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const asJson = jsonOf(text) ?? (lines[0]?.startsWith('{') ? lines.map(jsonOf) : undefined);
  if (Array.isArray(asJson)) return asJson;
  if (typeof asJson === 'object' && asJson !== null) return [asJson];
  const more = source === '' ? {} : { source };
  return lines.map((line) => ({ id: crypto.randomUUID(), payload: { text: line, ...more } }));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
