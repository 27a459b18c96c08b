import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { FlaskConical, Plus } from 'lucide-react';
import { useState } from 'react';
import type { ProviderReply } from '../../../../src/admin/entries/provider-shown.ts';
import { providers } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { EntryPage, Fact, Facts, Section } from '../../parts/page.tsx';
import { ProviderMark } from '../../parts/provider-mark.tsx';
import { healthTones, Status } from '../../parts/status.tsx';
import { EditDefinition } from '../../parts/stored/edit-definition.tsx';
import { EntryActions, EntryFacts, EntryNotes } from '../../parts/stored/stored-entry.tsx';
import { Attempts } from '../attempts/attempts.tsx';
import { AddCredential } from './add-credential.tsx';
import { Credentials } from './credentials.tsx';
import { type TestReply, TestResult } from './test-result.tsx';

/** One provider: how its credentials do, and what can be done about it. */
export default function ProviderPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const query = useQuery({ ...providers.query(name), refetchInterval: 5_000 });
  return (
    <EntryPage title={name} list={list} query={query} actions={(provider) => <Actions provider={provider} />}>
      {(provider) => <Provider provider={provider} />}
    </EntryPage>
  );
}

const list = { to: '/dashboard/providers', label: 'Providers' };

function Provider({ provider }: { provider: ProviderReply }) {
  const test = useMutation({
    mutationFn: () => call<TestReply>('POST', `${providers.addressOf(provider.name)}/test`),
  });
  const may = useMay('providers', 'write');
  const [adding, setAdding] = useState(false);
  const isStored = provider.source === 'kept';
  return (
    <>
      <EntryNotes of={provider} kind="a provider" />
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
            <Fact name="Type">
              <span className="inline-flex items-center gap-2">
                <ProviderMark type={provider.type} /> {provider.type}
              </span>
            </Fact>
            <Fact name="Base URL">{provider.base_url}</Fact>
            <EntryFacts of={provider} />
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
          isStored && (
            <Button icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
              Add credential
            </Button>
          )
        }
      >
        <Credentials provider={provider} removable={may && isStored} />
      </Section>
      {provider.serves === 'models' && (
        <Attempts where={{ provider: provider.name }} groups={['target', 'credential', 'class']} />
      )}
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

/** Its credentials are changed next to it. */
function Actions({ provider }: { provider: ProviderReply }) {
  const client = useQueryClient();
  return (
    <EntryActions
      of={provider}
      name={provider.name}
      kind="provider"
      area="providers"
      entries={providers}
      list={list.to}
      edit={(done) => (
        <EditDefinition
          entry={provider}
          path={providers.addressOf(provider.name)}
          address={{
            name: 'base_url',
            label: 'Base URL',
            hint: 'Leave it empty for the default of the type.',
            placeholder: provider.base_url,
          }}
          fixed={['type']}
          hint="JSON with the keys of culvert.yaml: timeouts, headers, all_models, http2, health, dialects …"
          onSaved={() => providers.refresh(client).then(done)}
        />
      )}
    >
      This also removes its credentials, and models lose their targets there. Running requests finish.
    </EntryActions>
  );
}
