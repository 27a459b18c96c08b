import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { Pencil, RotateCw, Trash2 } from 'lucide-react';
import { type ReactNode, Suspense, useState } from 'react';
import type { KeyAddresses } from '../../../../src/admin/entries/key-addresses.ts';
import type { KeyWindows } from '../../../../src/admin/entries/key-windows.ts';
import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import { keys } from '../../api/entries.ts';
import { usePages } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Id } from '../../parts/code.tsx';
import { dataRuleInWords } from '../../parts/data-rule.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Ago, Count, Moment } from '../../parts/figures.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { EntryPage, Fact, Facts, Section } from '../../parts/page.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';
import { WindowGauges } from '../../parts/window-gauges.tsx';
import type { WindowView } from '../../parts/window-view.ts';
import { KeepBodies } from '../bodies/keep-bodies.tsx';
import { Cost } from '../requests/cost.tsx';
import { Outcome } from '../requests/outcome.tsx';
import type { RequestRow } from '../requests/use-requests.ts';
import { EditKey } from './edit-key.tsx';
import { tones } from './key-status.ts';
import { RestoreKey, RevokeKey } from './revoke-key.tsx';
import { RotateKey } from './rotate-key.tsx';
import { Runs } from './runs.tsx';

const Spend = lazyPart(() => import('../usage/spend-by-day.tsx'));

/** While the page is visible, limits are read so often. */
const windowsEveryMs = 10_000;

/** How many of its newest requests the page lists. */
const requestsShown = 10;

/** One key: its limits, its last requests, its spend, and the form that changes it. */
export default function KeyPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useQuery(keys.query(id));
  const path = keys.addressOf(id);
  const windows = useQuery({
    queryKey: [keys.path, path, 'windows'],
    queryFn: ({ signal }) => get<KeyWindows>(`${path}/windows`, {}, signal),
    refetchInterval: windowsEveryMs,
  });
  return (
    <EntryPage
      title={query.data?.name ?? id}
      list={{ to: '/dashboard/keys', label: 'Keys' }}
      query={query}
      changes={{ action: 'key', subject: id }}
      actions={(key) => <Actions of={key} used={windows.data?.own} />}
    >
      {(key) => (
        <>
          {key.from === 'configuration' && (
            <Note tone="plain">
              This key is set in the configuration file. Change it there. If its secret leaked, block it here.
            </Note>
          )}
          <KeyFacts of={key} />
          {windows.error !== null && <ErrorNote error={windows.error} retry={() => void windows.refetch()} />}
          {windows.data === undefined && windows.error === null && <Skeleton className="h-24" />}
          {windows.data !== undefined && <Limits of={key} windows={windows.data} />}
          <Suspense fallback={<Skeleton className="h-48" />}>
            <Spend query={{ key: key.id }} />
          </Suspense>
          <UsedFrom of={key} />
          <Runs of={key} />
          <KeepBodies of="key" name={key.id} account={key.account} />
          <LastRequests of={key} />
        </>
      )}
    </EntryPage>
  );
}

function Actions({ of, used }: { of: KeyReply; used: KeyWindows['own'] | undefined }) {
  const [open, setOpen] = useState<'edit' | 'rotate' | 'revoke' | 'restore' | null>(null);
  const close = () => setOpen(null);
  const may = useMay('keys', 'write');
  const isFile = of.from === 'configuration';
  if (!may || (!isFile && of.status === 'revoked')) return null;
  if (isFile) {
    const isBlocked = of.status === 'revoked';
    return (
      <>
        <Button look={isBlocked ? 'plain' : 'danger'} onClick={() => setOpen(isBlocked ? 'restore' : 'revoke')}>
          {isBlocked ? 'Lift the block' : 'Block'}
        </Button>
        {open === 'revoke' && <RevokeKey of={of} onClose={close} />}
        {open === 'restore' && <RestoreKey of={of} onClose={close} />}
      </>
    );
  }
  return (
    <>
      <Button icon={<Pencil className="size-4" aria-hidden />} onClick={() => setOpen('edit')}>
        Edit
      </Button>
      <Button icon={<RotateCw className="size-4" aria-hidden />} onClick={() => setOpen('rotate')}>
        Rotate
      </Button>
      <Button look="danger" icon={<Trash2 className="size-4" aria-hidden />} onClick={() => setOpen('revoke')}>
        Revoke
      </Button>
      <Dialog open={open === 'edit'} onClose={close} place="side" title={`Edit ${of.name}`}>
        <EditKey of={of} used={used} onClose={close} />
      </Dialog>
      {open === 'rotate' && <RotateKey of={of} onClose={close} />}
      {open === 'revoke' && <RevokeKey of={of} onClose={close} />}
    </>
  );
}

function KeyFacts({ of }: { of: KeyReply }) {
  const link = 'underline underline-offset-2';
  return (
    <Section>
      <div className="grid items-start gap-x-8 gap-y-1.5 lg:grid-cols-2">
        <Facts>
          <Fact name="Status">
            <Status tone={tones[of.status]}>{of.status}</Status>
          </Fact>
          <Fact name="Account">
            <Link to={`/dashboard/accounts/${encodeURIComponent(of.account)}`} className={link}>
              {of.account}
            </Link>
          </Fact>
          <Fact name="Plan">
            <Link to={`/dashboard/plans/${encodeURIComponent(of.plan)}`} className={link}>
              {of.plan}
            </Link>
          </Fact>
          <Fact name="Id">
            <Id text={of.id} />
          </Fact>
          <Fact name="Created">
            {of.created_at === null ? 'in the configuration file' : <Ago at={of.created_at} />}
          </Fact>
        </Facts>
        <Facts>
          <Fact name="Expires">{of.expires === null ? 'never' : <Ago at={of.expires} />}</Fact>
          <Fact name="Models">{listed(of.models, 'all models of its plan')}</Fact>
          <Fact name="Allowed IPs">{listed(of.ips, 'all')}</Fact>
          <Fact name="Guards">
            {of.guards.length === 0
              ? 'those of its account and plan'
              : of.guards.map((name, at) => (
                  <span key={name}>
                    {at > 0 && ', '}
                    <Link to={`/dashboard/guards/${encodeURIComponent(name)}`} className={link}>
                      {name}
                    </Link>
                  </span>
                ))}
          </Fact>
          <Fact name="Data">{dataRuleInWords(of.limits?.data) ?? 'wherever its account and plan allow'}</Fact>
          <Fact name="Tags">{listed(of.tags, 'none')}</Fact>
          {of.old_secrets_until !== null && of.status !== 'revoked' && (
            <Fact name="Old secret works until">
              <Moment at={of.old_secrets_until} />
            </Fact>
          )}
        </Facts>
      </div>
    </Section>
  );
}

type Place = KeyAddresses['data'][number];

const placeColumns: Column<Place>[] = [
  { head: 'Address', value: ({ address }) => address, cell: ({ address }) => <code>{address}</code> },
  { head: 'Requests', align: 'right', cell: ({ requests }) => <Count value={requests} /> },
  { head: 'First used', from: 'sm', cell: ({ first_used_at }) => <Ago at={first_used_at} /> },
  { head: 'Last used', cell: ({ last_used_at }) => <Ago at={last_used_at} /> },
];

function UsedFrom({ of }: { of: KeyReply }) {
  const path = `${keys.addressOf(of.id)}/addresses`;
  const { data, error, refetch } = useQuery({
    queryKey: [keys.path, path],
    queryFn: ({ signal }) => get<KeyAddresses>(path, {}, signal),
  });
  if (error !== null) return <ErrorNote error={error} retry={() => void refetch()} />;
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Section title="Used from">
      <Table label="Used from" columns={placeColumns} rows={data.data} keyOf={({ address }) => address} empty={null} />
    </Section>
  );
}

function listed(names: readonly string[] | null, unless: string): ReactNode {
  return names === null || names.length === 0 ? unless : names.join(', ');
}

function Limits({ of, windows: { own, of_plan, scope, plan } }: { of: KeyReply; windows: KeyWindows }) {
  const views = (windows: KeyWindows['own']): WindowView[] =>
    windows.map(({ frees_at: freesAt, ...view }) => ({ ...view, freesAt }));
  const limited = of_plan.filter(({ limit, soft }) => limit !== null || soft !== null);
  return (
    <>
      <Section title="Limits of this key">
        <WindowGauges windows={views(own)} />
      </Section>
      {limited.length > 0 && (
        <Section title={scope === 'key' ? `Limits of plan ${plan}` : `Limits of account ${of.account}, plan ${plan}`}>
          <WindowGauges windows={views(limited)} />
        </Section>
      )}
    </>
  );
}

const columns: readonly Column<RequestRow>[] = [
  { head: 'Time', cell: ({ created_at }) => <Moment at={created_at} />, className: 'w-px' },
  { head: 'Status', value: ({ status }) => status, cell: (row) => <Outcome status={row.status} failure={row.class} /> },
  { head: 'Model', cell: ({ model }) => <span className="[overflow-wrap:anywhere]">{model}</span> },
  { head: 'End user', from: 'md', cell: ({ user }) => user },
  { head: 'Cost', align: 'right', value: ({ cost_usd }) => cost_usd, cell: (row) => <Cost request={row} /> },
];

function LastRequests({ of }: { of: KeyReply }) {
  const may = useMay('requests', 'read');
  return may ? <LastOf id={of.id} /> : null;
}

function LastOf({ id }: { id: string }) {
  const { rows, error, refetch } = usePages<RequestRow>('/admin/v1/requests', { key: id }, { limit: requestsShown });
  const last = rows?.[0];
  return (
    <div className="flex flex-col gap-2">
      <div className="flex min-h-8 items-center justify-between gap-2">
        <h2 className="font-medium text-sm">Last requests</h2>
        <span className="text-sm">
          {last !== undefined && (
            <span className="mr-4 text-muted">
              Last used <Ago at={last.created_at} />
            </span>
          )}
          <Link to="/dashboard/requests" search={{ key: id } as never} className="underline underline-offset-2">
            All requests
          </Link>
        </span>
      </div>
      <Table
        label="Last requests"
        columns={columns}
        rows={rows}
        error={error}
        retry={refetch}
        keyOf={(row) => row.id}
        to={(row) => `/dashboard/requests/${row.id}`}
        empty={<Empty title="This key has not been used yet." />}
      />
    </div>
  );
}
