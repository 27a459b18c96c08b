import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { InvitationReply } from '../../../../src/admin/entries/invitations.ts';
import type { MemberReply } from '../../../../src/admin/entries/members.ts';
import { usePages } from '../../api/pages.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Ago, Moment } from '../../parts/figures.tsx';
import { Section } from '../../parts/page.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { toast } from '../../parts/toast.tsx';
import { Invite } from './invite.tsx';

/** Members of an account, and who is invited to it; nothing for those who may not see them. */
export function Members({ account }: { account: string }) {
  return useMay('members', 'write') ? <Listed account={account} /> : null;
}

function Listed({ account }: { account: string }) {
  const client = useQueryClient();
  const pages = usePages<MemberReply>('/admin/v1/members', { account });
  const [leaving, setLeaving] = useState<MemberReply | null>(null);
  const columns: Column<MemberReply>[] = [
    { head: 'Name', cell: ({ name }) => <span className="[overflow-wrap:anywhere]">{name}</span> },
    { head: 'Role', cell: ({ role }) => role },
    { head: 'Since', from: 'sm', cell: ({ created_at }) => <Ago at={created_at} /> },
    {
      head: 'Actions',
      align: 'right',
      className: 'w-px',
      cell: (member) => (
        <Button disabled={member.managed_by !== 'culvert'} onClick={() => setLeaving(member)}>
          Remove
        </Button>
      ),
    },
  ];
  return (
    <Section title="Members" actions={<Invite account={account} />}>
      <PagedTable
        label="Members"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title="This account has no members yet.">Operators of all accounts can see it, too.</Empty>}
      />
      <Invitations account={account} />
      {leaving !== null && (
        <Confirm
          open
          onClose={() => setLeaving(null)}
          title={`Remove ${leaving.name}?`}
          action="Remove"
          onConfirm={async () => {
            await call('DELETE', `/admin/v1/members/${leaving.id}`);
            await client.invalidateQueries({ queryKey: ['/admin/v1/members'] });
          }}
        >
          {leaving.accounts.length === 1
            ? 'Their sessions in this account end at once. Keys that they made keep working.'
            : `The operator is removed from ${leaving.accounts.join(', ')}. Keys that they made keep working.`}
        </Confirm>
      )}
    </Section>
  );
}

/** Invitations that nobody has used; nothing where there are none. `account`: of this one alone. */
export function Invitations({ account }: { account?: string }) {
  const client = useQueryClient();
  const { rows = [] } = usePages<InvitationReply>('/admin/v1/invitations', {}, { limit: 500 });
  const invitations = rows.filter(({ accounts }) => account === undefined || accounts?.includes(account));
  const withdraw = useMutation({
    mutationFn: (id: string) => call('DELETE', `/admin/v1/invitations/${id}`),
    // It may have been used meanwhile, or withdrawn by another person.
    onError: (error) => toast(error.message),
    onSettled: () => client.invalidateQueries({ queryKey: ['/admin/v1/invitations'] }),
  });
  if (invitations.length === 0) return null;
  return (
    <ul aria-label="Invitations" className="flex flex-col gap-2 py-3 text-sm">
      {invitations.map(({ id, role, accounts, name, email, created_by: by, expires }) => (
        <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-1">
          <span className="min-w-48 flex-1 [overflow-wrap:anywhere]">
            {name ?? email ?? 'Somebody'} is invited by {by} as {role} of {accounts?.join(', ') ?? 'all accounts'}
          </span>
          <span className="text-muted">
            until <Moment at={expires} />
          </span>
          <Button onClick={() => withdraw.mutate(id)}>Withdraw</Button>
        </li>
      ))}
    </ul>
  );
}
