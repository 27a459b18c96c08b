import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link2, LogOut } from 'lucide-react';
import { useState } from 'react';
import type { SessionReply } from '../../../../src/admin/sessions.ts';
import { usePages } from '../../api/pages.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { serverUrl } from '../../api/server-path.ts';
import { providerLoginNames, useSession } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Ago } from '../../parts/figures.tsx';
import { Badge } from '../../parts/status.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { toast } from '../../parts/toast.tsx';
import { Secret } from '../keys/secret.tsx';

const ways: Readonly<Record<string, string>> = {
  token: 'Login link',
  admin_key: 'Admin key',
  operator_key: 'Operator key',
  key: 'API key',
  ...providerLoginNames,
};

/** Browsers that are logged in. */
export function Sessions() {
  const client = useQueryClient();
  const may = useMay('operators', 'write');
  const { id: sessionId } = useSession();
  const pages = usePages<SessionReply>('/admin/v1/sessions', {}, { inUrl: true });
  const [ending, setEnding] = useState<SessionReply | null>(null);
  const columns: Column<SessionReply>[] = [
    {
      head: 'Name',
      value: ({ name }) => name,
      cell: ({ id, name, kind }) => (
        <>
          {name} {kind === 'key' && <span className="text-muted">(API key)</span>}{' '}
          {id === sessionId && <Badge tone="accent">this browser</Badge>}
        </>
      ),
    },
    { head: 'Login', from: 'sm', cell: ({ login }) => ways[login] ?? login },
    { head: 'Address', from: 'md', cell: ({ address }) => address || 'unknown' },
    { head: 'Browser', from: 'lg', cell: ({ agent }) => <span title={agent}>{browserOf(agent)}</span> },
    { head: 'Last seen', cell: ({ seen_at }) => <Ago at={seen_at} /> },
    { head: 'Expires', from: 'md', cell: ({ expires_at }) => <Ago at={expires_at} /> },
  ];
  if (may) {
    columns.push({
      head: 'End',
      kind: 'actions',
      align: 'right',
      className: 'w-px',
      cell: (session) => (
        <Button look="quiet" size="row" icon={<LogOut className="size-3.5" />} onClick={() => setEnding(session)}>
          Log out
        </Button>
      ),
    });
  }
  return (
    <>
      {may && <LoginLink />}
      <PagedTable
        label="Sessions"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title="There are no sessions." />}
      />
      {ending !== null && (
        <Confirm
          open
          onClose={() => setEnding(null)}
          title={ending.id === sessionId ? 'Log yourself out?' : `Log ${ending.name} out?`}
          action="Log out"
          onConfirm={async () => {
            await call('DELETE', `/admin/v1/sessions/${ending.id}`);
            toast(`${ending.name} is logged out.`);
            await client.invalidateQueries({ queryKey: ['/admin/v1/sessions'] });
          }}
        >
          {ending.id === sessionId
            ? 'This is your browser: you must log in again.'
            : 'Every replica refuses the next request of that browser.'}
        </Confirm>
      )}
    </>
  );
}

function LoginLink() {
  const make = useMutation({ mutationFn: () => call<{ path: string }>('POST', '/admin/v1/login-links') });
  return (
    <div className="flex flex-wrap items-center gap-3">
      <p className="min-w-64 flex-1 text-muted">
        A login link logs one browser in as an owner. It works once, within ten minutes.
      </p>
      <Button icon={<Link2 className="size-4" />} busy={make.isPending} onClick={() => make.mutate()}>
        Create a login link
      </Button>
      {make.error !== null && <ErrorNote error={make.error} />}
      {make.data !== undefined && (
        <Dialog
          open
          onClose={null}
          title="Login link"
          description="The first person who opens it is logged in as an owner."
        >
          <Secret secret={serverUrl + make.data.path} onDone={make.reset} />
        </Dialog>
      )}
    </div>
  );
}

/** Its common name; the whole text is its title. */
function browserOf(agent: string): string {
  const name = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find(
    (one) => agent.includes(`${one}/`) || agent.includes(`Headless${one}`),
  );
  const system = /Windows|Android|iPhone|iPad|Mac OS|Linux/.exec(agent)?.[0];
  if (name === undefined) return agent.split(' ')[0] || 'unknown';
  const shown = { Edg: 'Edge', OPR: 'Opera' }[name] ?? name;
  return system === undefined ? shown : `${shown} on ${system.replace('Mac OS', 'macOS')}`;
}
