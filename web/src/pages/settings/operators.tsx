import { useQueryClient } from '@tanstack/react-query';
import { Ellipsis, UserPlus } from 'lucide-react';
import { useState } from 'react';
import type { OperatorReply } from '../../../../src/admin/entries/operators.ts';
import { usePages } from '../../api/pages.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { providerLoginNames } from '../../api/session.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Ago } from '../../parts/figures.tsx';
import { Menu, MenuItem } from '../../parts/menu.tsx';
import { Badge } from '../../parts/status.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { toast } from '../../parts/toast.tsx';
import { Secret } from '../keys/secret.tsx';
import { Invite } from '../members/invite.tsx';
import { Invitations } from '../members/members.tsx';
import { OperatorForm } from './operator-form.tsx';

type Doing = { what: 'change' | 'rotate' | 'remove'; operator: OperatorReply } | { what: 'make' };

/** Operators in addition to the holder of the admin key. */
export function Operators() {
  const client = useQueryClient();
  const may = useMay('operators', 'write');
  const pages = usePages<OperatorReply>('/admin/v1/operators', {}, { inUrl: true });
  const [doing, setDoing] = useState<Doing | null>(null);
  const [secret, setSecret] = useState<{ name: string; key: string } | null>(null);
  const renewed = () => client.invalidateQueries({ queryKey: ['/admin/v1/operators'] });
  const close = () => setDoing(null);
  const columns: Column<OperatorReply>[] = [
    { head: 'Name', cell: ({ name }) => <span className="[overflow-wrap:anywhere]">{name}</span> },
    { head: 'Role', cell: ({ role }) => <Badge tone={role === 'owner' ? 'accent' : 'plain'}>{role}</Badge> },
    { head: 'Accounts', from: 'sm', cell: ({ accounts }) => (accounts === null ? 'all' : accounts.join(', ')) },
    {
      head: 'Login',
      value: ({ login }) => login,
      from: 'md',
      cell: ({ login, prefix }) =>
        login === 'key' ? <code className="font-mono text-xs">{prefix}…</code> : providerLoginNames[login],
    },
    { head: 'Created', from: 'md', cell: ({ created_at }) => <Ago at={created_at} /> },
  ];
  if (may) {
    columns.push({
      head: 'Actions',
      kind: 'actions',
      align: 'right',
      className: 'w-px',
      cell: (operator) => (
        <Menu
          trigger={
            <IconButton label={`Actions for ${operator.name}`} size="row">
              <Ellipsis />
            </IconButton>
          }
        >
          <MenuItem
            disabled={operator.managed_by !== 'culvert'}
            onSelect={() => setDoing({ what: 'change', operator })}
          >
            Edit
          </MenuItem>
          <MenuItem
            disabled={operator.managed_by !== 'culvert'}
            onSelect={() => setDoing({ what: 'rotate', operator })}
          >
            New key
          </MenuItem>
          <MenuItem tone="bad" onSelect={() => setDoing({ what: 'remove', operator })}>
            Remove
          </MenuItem>
        </Menu>
      ),
    });
  }
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <p className="w-full text-muted sm:w-auto sm:min-w-64 sm:flex-1">
          Owners may do everything, and admins everything except managing operators. Viewers may only read. Billing sees
          accounts, plans and usage. Members make keys and see requests.
        </p>
        {may && <Invite />}
        {may && (
          <Button look="main" icon={<UserPlus className="size-4" />} onClick={() => setDoing({ what: 'make' })}>
            Create an operator
          </Button>
        )}
      </div>
      <PagedTable
        label="Operators"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          <Empty title="There are no operators yet.">Only the holder of the admin key administers the server.</Empty>
        }
      />
      {may && <Invitations />}
      {(doing?.what === 'make' || doing?.what === 'change') && (
        <Dialog
          open
          onClose={close}
          title={doing.what === 'make' ? 'Create an operator' : `Edit ${doing.operator.name}`}
        >
          <OperatorForm
            operator={doing.what === 'make' ? null : doing.operator}
            onDone={(key, name) => {
              close();
              if (key !== null) setSecret({ name, key });
              void renewed();
            }}
          />
        </Dialog>
      )}
      {doing?.what === 'rotate' && (
        <Confirm
          open
          onClose={close}
          title={`A new key for ${doing.operator.name}?`}
          action="Create a new key"
          onConfirm={async () => {
            const { key } = await call<{ key: string }>('POST', `/admin/v1/operators/${doing.operator.id}/rotate`);
            setSecret({ name: doing.operator.name, key });
            await renewed();
          }}
        >
          The old key stops working at once, and its sessions end.
        </Confirm>
      )}
      {doing?.what === 'remove' && (
        <Confirm
          open
          onClose={close}
          title={`Remove ${doing.operator.name}?`}
          action="Remove"
          onConfirm={async () => {
            await call('DELETE', `/admin/v1/operators/${doing.operator.id}`);
            toast(`${doing.operator.name} was removed.`);
            await renewed();
          }}
        >
          {doing.operator.managed_by !== 'culvert'
            ? 'Its sessions end. The next login creates it again, unless its groups no longer allow it.'
            : 'Its key stops working and its sessions end.'}
        </Confirm>
      )}
      {secret !== null && (
        <Dialog
          open
          onClose={null}
          title={`Key of ${secret.name}`}
          description="It logs in to the dashboard and calls /admin/v1."
        >
          <Secret secret={secret.key} onDone={() => setSecret(null)} />
        </Dialog>
      )}
    </>
  );
}
