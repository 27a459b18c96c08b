import { type QueryClient, type UseQueryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Pencil, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { call } from '../../api/request.ts';
import { type Area, useMay } from '../../api/rights.ts';
import { Button } from '../button.tsx';
import { Confirm, Dialog } from '../dialog.tsx';
import { unlessChanged } from '../forms/changed-meanwhile.tsx';
import { EntryPage } from '../page.tsx';
import { toast } from '../toast.tsx';
import { EntryNotes, type StoredEntry } from './stored-entry.tsx';

export interface StoredPageProps<Entry> {
  /** Its list in the admin API. */
  entries: {
    query: (name: string) => Pick<UseQueryOptions<Entry, Error, Entry, string[]>, 'queryKey' | 'queryFn'>;
    addressOf: (name: string) => string;
    refresh: (client: QueryClient) => Promise<void>;
  };
  /** The page of its list. */
  list: { to: string; label: string };
  /** How often it is read again. */
  everyMs: number;
  /** Kind of entry, as in `Remove provider`. */
  kind: string;
  area: Area;
  /** `side`: its form is long. */
  place?: 'middle' | 'side';
  /** The form that changes it; `done` closes it. Absent: its page has what changes it. */
  edit?: (entry: Entry, done: () => void) => ReactNode;
  /** Consequences of its removal. */
  removal: string;
  /** Further actions, before those of each stored entry. */
  actions?: (entry: Entry) => ReactNode;
  children: (entry: Entry) => ReactNode;
}

/** Page of one entry that may be stored: its faults, its contents, and what can be done about it. */
export function StoredPage<Entry extends StoredEntry>(props: StoredPageProps<Entry>) {
  const { entries, list, everyMs, kind, actions, children } = props;
  const { name, id } = useParams({ strict: false }) as { name?: string; id?: string };
  const title = name ?? id ?? '';
  const query = useQuery({ ...entries.query(title), refetchInterval: everyMs });
  return (
    <EntryPage
      title={title}
      list={list}
      query={query}
      changes={{ subject: title }}
      actions={(entry) => (
        <>
          {actions?.(entry)}
          <Change {...props} entry={entry} name={title} />
        </>
      )}
    >
      {(entry) => (
        <>
          <EntryNotes of={entry} kind={`${/^[aA]|^MCP/.test(kind) ? 'an' : 'a'} ${kind}`} />
          {children(entry)}
        </>
      )}
    </EntryPage>
  );
}

/** Stored entries can be changed and removed here; those of the file, in the file. */
function Change<Entry extends StoredEntry>(props: StoredPageProps<Entry> & { entry: Entry; name: string }) {
  const { entry, name, kind, area, entries, list, place, edit, removal } = props;
  const client = useQueryClient();
  const navigate = useNavigate();
  const may = useMay(area, 'write');
  const [open, setOpen] = useState<'edit' | 'remove' | null>(null);
  const close = () => setOpen(null);
  if (!may) return null;
  if (entry.version === null) {
    return entry.source === 'file' && <span className="text-muted text-sm">Set in the configuration file</span>;
  }
  return (
    <>
      {edit !== undefined && (
        <Button icon={<Pencil className="size-4" />} onClick={() => setOpen('edit')}>
          Edit
        </Button>
      )}
      <Button look="danger" icon={<Trash2 className="size-4" />} onClick={() => setOpen('remove')}>
        Remove
      </Button>
      <Dialog open={open === 'edit'} onClose={close} place={place} title={`Edit ${name}`}>
        {edit?.(entry, close)}
      </Dialog>
      <Confirm
        open={open === 'remove'}
        onClose={close}
        title={`Remove ${name}?`}
        action={`Remove ${kind}`}
        onConfirm={async () => {
          await unlessChanged(
            () => call('DELETE', entries.addressOf(name), { query: { version: entry.version } }),
            () => entries.refresh(client),
          );
          toast(`${name} was removed.`);
          await navigate({ to: list.to as never });
          await entries.refresh(client);
        }}
      >
        {removal}
      </Confirm>
    </>
  );
}
