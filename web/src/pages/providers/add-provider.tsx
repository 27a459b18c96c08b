import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Server } from 'lucide-react';
import { useState } from 'react';
import type { DraftReply } from '../../../../src/admin/entries/provider-drafts.ts';
import type { ProviderReply } from '../../../../src/admin/entries/provider-shown.ts';
import { providers } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Input, Select } from '../../parts/controls.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { Field, Form } from '../../parts/forms/form.tsx';
import { toast } from '../../parts/toast.tsx';
import { type FoundServer, foundQuery, type ProviderType, typeOfKey, typesQuery } from './use-providers.ts';

export interface Added {
  name: string;
  /** Null: its test failed, and it was added all the same. */
  models: DraftReply['models'] | null;
}

/** Provider that is being added, as its fields have it. */
interface Draft {
  /** Null: not chosen, and guessed by the key. */
  type: string | null;
  key: string;
  baseUrl: string;
  /** Address of the server that was picked, which belongs to its type. */
  found: string;
  name: string;
}

const blank: Draft = { type: null, key: '', baseUrl: '', found: '', name: '' };

/** Tries a provider, then keeps it. Gives the models that it listed. */
export function AddProvider({
  onAdded,
  action = 'Add provider',
}: {
  onAdded: (added: Added) => void;
  action?: string;
}) {
  const client = useQueryClient();
  const { data: types, error: typesError } = useQuery(typesQuery);
  const [draft, setDraft] = useState(blank);
  const [refused, setRefused] = useState<DraftReply | null>(null);
  const change = (changes: Partial<Draft>) => {
    setRefused(null);
    setDraft((before) => ({ ...before, ...changes }));
  };
  const type = draft.type ?? typeOfKey(draft.key.trim()) ?? 'openai';
  const kind = types?.data.find((each) => each.type === type);
  const body = bodyOf(draft, type);

  const keep = useMutation({
    mutationFn: () => call<ProviderReply>('POST', providers.path, { body }),
    async onSuccess({ name }) {
      await providers.refresh(client);
      const models = trial.data?.ok === true ? trial.data.models : null;
      toast(models === null ? `${name} was added. Its test failed.` : `${name} now answers requests.`);
      onAdded({ name, models });
    },
  });
  const trial = useMutation({
    mutationFn: () => call<DraftReply>('POST', `${providers.path}/test`, { body }),
    // Why it could not be kept before says nothing of this attempt.
    onMutate: () => keep.reset(),
    onSuccess(result) {
      if (result.ok) keep.mutate();
      else setRefused(result);
    },
  });
  const busy = trial.isPending || keep.isPending;

  if (types === undefined) return typesError === null ? null : <ErrorNote error={typesError} />;
  return (
    <Form
      error={keep.error ?? trial.error}
      onSubmit={() => trial.mutate()}
      footer={
        <>
          {refused !== null && (
            <Button busy={keep.isPending} onClick={() => keep.mutate()}>
              Add anyway
            </Button>
          )}
          <Button type="submit" look="main" busy={busy} disabled={kind?.needs_key === true && draft.key.trim() === ''}>
            {trial.isPending ? 'Testing' : action}
          </Button>
        </>
      }
    >
      <FoundServers
        onPick={(server) => change({ type: server.type, baseUrl: server.base_url, found: server.base_url, key: '' })}
      />
      <Field name="api_key" label="API key" hint={keyHint(kind)}>
        <Input
          type="password"
          autoComplete="off"
          autoFocus
          placeholder={kind?.needs_key === false ? 'Not needed' : 'Paste it here'}
          value={draft.key}
          onChange={({ target }) => change({ key: target.value })}
        />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field name="type" label="Type">
          <Select
            value={type}
            onChange={({ target }) =>
              change({ type: target.value, ...(draft.baseUrl === draft.found && { baseUrl: '' }) })
            }
          >
            {groupsOf(types.data).map(([label, group]) => (
              <optgroup key={label} label={label}>
                {group.map(optionOf)}
              </optgroup>
            ))}
          </Select>
        </Field>
        <Field name="name" label="Name" hint="Targets begin with this name.">
          <Input
            placeholder={type}
            spellCheck={false}
            value={draft.name}
            onChange={({ target }) => change({ name: target.value })}
          />
        </Field>
      </div>
      <Field
        name="base_url"
        label="Base URL"
        hint={kind?.base_url === null ? undefined : 'Only if it differs. An address in your own network also works.'}
      >
        <Input
          inputMode="url"
          spellCheck={false}
          placeholder={kind?.base_url ?? 'https://…'}
          value={draft.baseUrl}
          onChange={({ target }) => change({ baseUrl: target.value })}
        />
      </Field>
      {refused !== null && <ErrorNote error={new Error(refused.message || `The test failed: ${refused.verdict}.`)} />}
    </Form>
  );
}

const groups = ['Chat and more', 'At your own address', 'Audio', 'Images', 'Embeddings', 'Your own servers'] as const;

function groupOf({ local, base_url, serves }: ProviderType): (typeof groups)[number] {
  if (local) return 'Your own servers';
  if (base_url === null) return 'At your own address';
  if (serves.includes('chat')) return 'Chat and more';
  if (serves.includes('speech') || serves.includes('transcription')) return 'Audio';
  return serves.includes('image') ? 'Images' : 'Embeddings';
}

/** Types are sorted by title in each group, so that typing the first letters of one finds it. */
function groupsOf(types: readonly ProviderType[]): [label: string, types: ProviderType[]][] {
  const sorted = [...types].sort((a, b) => a.title.localeCompare(b.title));
  return groups.map((label) => [label, sorted.filter((type) => groupOf(type) === label)]);
}

function optionOf({ type, title }: ProviderType) {
  return (
    <option key={type} value={type}>
      {title}
    </option>
  );
}

function keyHint(kind: ProviderType | undefined): string | undefined {
  if (kind?.env == null) return undefined;
  return `Other tools read it from ${kind.env}.`;
}

function bodyOf({ key, baseUrl, name }: Draft, type: string): Record<string, string> {
  const given = { api_key: key.trim(), base_url: baseUrl.trim() };
  const entries = Object.entries(given).filter(([, value]) => value !== '');
  return { name: name.trim() || type, type, ...Object.fromEntries(entries) };
}

/** Model servers that answer on Culvert's machine and are not providers yet. */
function FoundServers({ onPick }: { onPick: (server: FoundServer) => void }) {
  const { data } = useQuery(foundQuery);
  const free = data?.data.filter(({ use, provider }) => use === 'provider' && provider === null) ?? [];
  if (free.length === 0) return null;
  return (
    <Note tone="ok" icon={<Server />}>
      <p>Found on this machine:</p>
      <ul className="mt-1 flex flex-col gap-1">
        {free.map((server) => (
          <li key={server.base_url} className="flex flex-wrap items-center gap-2">
            <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">
              {server.title} <span className="text-muted">{server.base_url}</span>,{' '}
              {plural(server.models.length, 'model')}
            </span>
            <Button onClick={() => onPick(server)}>Use</Button>
          </li>
        ))}
      </ul>
    </Note>
  );
}
