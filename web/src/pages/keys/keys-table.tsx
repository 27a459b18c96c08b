import { Ellipsis, KeyRound, RotateCcw, RotateCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import { usePages } from '../../api/pages.ts';
import { useMay } from '../../api/rights.ts';
import { IconButton } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Ago, None } from '../../parts/figures.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { Badge, Status } from '../../parts/status.tsx';
import { SourceBadge } from '../../parts/stored/stored-entry.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { tones } from './key-status.ts';
import { NewKeyButton } from './new-key.tsx';
import { RestoreKey, RevokeKey } from './revoke-key.tsx';
import { RotateKey } from './rotate-key.tsx';

interface KeysTableProps {
  text?: string;
  account?: string;
  status?: string;
  tag?: string;
  /** Keys of all accounts are in it: shows the account of each. */
  all?: true;
}

/** Keys, and what can be done with them. */
export function KeysTable({ text, account, status, tag, all }: KeysTableProps) {
  const pages = usePages<KeyReply>('/admin/v1/keys', { text, account, status, tag }, { inUrl: all === true });
  const may = useMay('keys', 'write');
  const [doing, setDoing] = useState<{ what: 'rotate' | 'revoke' | 'restore'; key: KeyReply } | null>(null);
  const close = () => setDoing(null);
  const columns: Column<KeyReply>[] = [
    {
      head: 'Key',
      value: ({ name }) => name,
      cell: (key) => (
        <span className="[overflow-wrap:anywhere]">
          <span className="font-medium">{key.name}</span>
          {all && <span className="block text-muted text-xs @xl:hidden">{key.account}</span>}
          <span className="hidden whitespace-nowrap font-mono text-muted text-xs sm:block @xl:ml-2 @xl:inline">
            {key.prefix ?? ''}
          </span>
          {key.from === 'configuration' && (
            <span className="block @xl:ml-2 @xl:inline">
              <SourceBadge source="file" />
            </span>
          )}
        </span>
      ),
    },
    ...(all ? [{ head: 'Account', from: 'sm' as const, cell: ({ account }: KeyReply) => account }] : []),
    {
      head: 'Status',
      value: ({ status }) => status,
      cell: (key) => (
        <span className="inline-flex items-center gap-2">
          <Status tone={tones[key.status]}>{key.status}</Status>
          {key.status !== 'revoked' && key.old_secrets_until !== null && (
            <Badge tone="warn" title={`The old secret works until ${key.old_secrets_until}`}>
              rotating
            </Badge>
          )}
        </span>
      ),
    },
    {
      head: 'Access',
      from: 'lg',
      cell: ({ models, ips }) => (
        <span className="text-muted" title={[...(models ?? []), ...(ips ?? [])].join('\n')}>
          {models === null ? 'all models of its plan' : models.slice(0, 3).join(', ')}
          {models !== null && models.length > 3 && ` and ${models.length - 3} more`}
          {ips !== null && ips.length > 0 && `, from ${ips.length === 1 ? ips[0] : `${ips.length} networks`}`}
        </span>
      ),
    },
    { head: 'Tags', from: 'xl', cell: ({ tags }) => (tags.length === 0 ? <None /> : tags.join(', ')) },
    { head: 'Expires', from: 'md', cell: ({ expires }) => (expires === null ? <None /> : <Ago at={expires} />) },
    {
      head: 'Created',
      from: 'sm',
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Made at={created_at} />,
    },
    {
      head: 'Actions',
      kind: 'actions',
      align: 'right',
      className: 'w-px',
      cell: (key) =>
        may && (key.from === 'configuration' || key.status !== 'revoked') ? (
          <Menu
            trigger={
              <IconButton label={`Actions for ${key.name}`} className="relative z-10 -my-1.5">
                <Ellipsis />
              </IconButton>
            }
          >
            {key.from === 'admin api' && (
              <MenuItem icon={<RotateCw />} onSelect={() => setDoing({ what: 'rotate', key })}>
                Rotate the secret
              </MenuItem>
            )}
            {key.status === 'revoked' ? (
              <MenuItem icon={<RotateCcw />} onSelect={() => setDoing({ what: 'restore', key })}>
                Lift the block
              </MenuItem>
            ) : (
              <MenuItem icon={<Trash2 />} tone="bad" onSelect={() => setDoing({ what: 'revoke', key })}>
                {key.from === 'configuration' ? 'Block' : 'Revoke'}
              </MenuItem>
            )}
          </Menu>
        ) : null,
    },
  ];
  return (
    <div className="flex flex-col gap-2">
      {all === undefined && (
        <div className="flex min-h-8 items-center justify-between gap-2">
          <h2 className="font-medium text-sm">Keys</h2>
          <NewKeyButton account={account} />
        </div>
      )}
      <PagedTable
        label="Keys"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        to={({ id }) => `/dashboard/keys/${encodeURIComponent(id)}`}
        empty={
          <Empty
            icon={<KeyRound />}
            title={
              text || status || tag || (all && account) ? 'No key matches these filters.' : 'There are no keys yet.'
            }
          >
            A program calls models with a key, and the account of the key pays.
          </Empty>
        }
      />
      {doing?.what === 'rotate' && <RotateKey of={doing.key} onClose={close} />}
      {doing?.what === 'revoke' && <RevokeKey of={doing.key} onClose={close} />}
      {doing?.what === 'restore' && <RestoreKey of={doing.key} onClose={close} />}
    </div>
  );
}

function Made({ at }: { at: string | null }) {
  return at === null ? <span className="text-muted">configuration file</span> : <Ago at={at} />;
}
