import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { ChevronLeft, FlaskConical, Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { ProviderReply } from '../../../../src/admin/providers.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Ago } from '../../parts/figures.tsx';
import { Fact, Facts, Page, Section } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { healthTones, Status } from '../../parts/status.tsx';
import { toast } from '../../parts/toast.tsx';
import { AddCredential } from './add-credential.tsx';
import { Credentials } from './credentials.tsx';
import { EditProvider } from './edit-provider.tsx';
import { Source } from './source.tsx';
import { type TestReply, TestResult } from './test-result.tsx';
import { addressOf, providerQuery, refreshProviders } from './use-providers.ts';

/** One provider: how its credentials do, and what can be done about it. */
export default function ProviderPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const { data, error, refetch } = useQuery({ ...providerQuery(name), refetchInterval: 5_000 });
  return (
    <Page
      title={name}
      before={
        <Link to="/dashboard/providers" className={buttonClass('quiet', '-ml-3 px-2')}>
          <ChevronLeft className="size-4" aria-hidden /> Providers
        </Link>
      }
      actions={data !== undefined && <Actions provider={data} />}
    >
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows />}
      {data !== undefined && <Provider provider={data} />}
    </Page>
  );
}

function Provider({ provider }: { provider: ProviderReply }) {
  const test = useMutation({
    mutationFn: () => call<TestReply>('POST', `${addressOf(provider.name)}/test`),
  });
  const may = useMay('providers', 'write');
  const [adding, setAdding] = useState(false);
  const kept = provider.source === 'kept';
  return (
    <>
      {provider.problem !== null && <Note tone="bad">The settings made here cannot be used: {provider.problem}</Note>}
      {provider.shadowed && (
        <Note tone="warn">
          The configuration file has a provider with this name, and Culvert uses that one. The settings made here are
          kept, but not used.
        </Note>
      )}
      <Section
        title="Details"
        actions={
          may && (
            <Button icon={<FlaskConical className="size-4" />} busy={test.isPending} onClick={() => test.mutate()}>
              Test now
            </Button>
          )
        }
      >
        <div className="flex flex-col gap-4">
          <Facts>
            <Fact name="State">
              <Status tone={healthTones[provider.status]}>{provider.status}</Status>
            </Fact>
            <Fact name="Type">{provider.type}</Fact>
            <Fact name="Base URL">{provider.base_url}</Fact>
            <Fact name="Source">
              <Source of={provider} />
            </Fact>
            {provider.updated_at !== null && (
              <Fact name="Last change">
                <Ago at={provider.updated_at} /> by {provider.updated_by}
              </Fact>
            )}
            {provider.serves === 'models' && (
              <Fact name="Models">
                <Link
                  to="/dashboard/models"
                  search={{ provider: provider.name } as never}
                  className="text-accent underline-offset-2 hover:underline"
                >
                  {provider.models} with a target here
                </Link>
              </Fact>
            )}
          </Facts>
          {test.error !== null && <ErrorNote error={test.error} />}
          {test.data !== undefined && <TestResult result={test.data} />}
        </div>
      </Section>
      <Section
        title="Credentials"
        inside="flush"
        actions={
          may &&
          kept && (
            <Button icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
              Add credential
            </Button>
          )
        }
      >
        <Credentials provider={provider} removable={may && kept} />
      </Section>
      <Dialog
        open={adding}
        onClose={() => setAdding(false)}
        title="Add a credential"
        description="Culvert shares requests among credentials by weight and health."
      >
        <AddCredential provider={provider.name} onAdded={() => setAdding(false)} />
      </Dialog>
    </>
  );
}

/** Stored entries can be changed and removed here; those of the file, in the file. */
function Actions({ provider }: { provider: ProviderReply }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const may = useMay('providers', 'write');
  const [open, setOpen] = useState<'edit' | 'remove' | null>(null);
  const { name, version, source } = provider;
  if (!may) return null;
  if (version === null) {
    return source === 'file' ? <span className="text-muted text-sm">Set in the configuration file</span> : null;
  }
  return (
    <>
      <Button icon={<Pencil className="size-4" />} onClick={() => setOpen('edit')}>
        Edit
      </Button>
      <Button look="danger" icon={<Trash2 className="size-4" />} onClick={() => setOpen('remove')}>
        Remove
      </Button>
      <Dialog open={open === 'edit'} onClose={() => setOpen(null)} title={`Edit ${name}`}>
        <EditProvider provider={provider} onDone={() => setOpen(null)} />
      </Dialog>
      <Confirm
        open={open === 'remove'}
        onClose={() => setOpen(null)}
        title={`Remove ${name}?`}
        action="Remove provider"
        onConfirm={async () => {
          await call('DELETE', addressOf(name), { query: { version } });
          toast(`${name} is removed.`);
          await navigate({ to: '/dashboard/providers' });
          await refreshProviders(client);
        }}
      >
        This also removes its credentials, and models lose their targets there. Running requests finish.
      </Confirm>
    </>
  );
}
