import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { ProviderReply } from '../../../../src/admin/entries/provider-shown.ts';
import { providers } from '../../api/entries.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Fact, Section } from '../../parts/page.tsx';
import { ProviderMark } from '../../parts/provider-mark.tsx';
import { healthTones, Status } from '../../parts/status.tsx';
import { EditDefinition } from '../../parts/stored/edit-definition.tsx';
import { EntryFacts } from '../../parts/stored/stored-entry.tsx';
import { StoredPage } from '../../parts/stored/stored-page.tsx';
import { TestedDetails } from '../../parts/stored/tested-details.tsx';
import { Attempts } from '../attempts/attempts.tsx';
import { AddCredential } from './add-credential.tsx';
import { Credentials } from './credentials.tsx';
import { type TestReply, TestResult } from './test-result.tsx';

/** One provider: how its credentials do, and what can be done about it. */
export default function ProviderPage() {
  return (
    <StoredPage
      entries={providers}
      list={{ to: '/dashboard/providers', label: 'Providers' }}
      everyMs={5_000}
      kind="provider"
      area="providers"
      // Its credentials are changed next to it.
      edit={(provider, done) => (
        <EditDefinition
          entry={provider}
          entries={providers}
          address={{
            name: 'base_url',
            label: 'Base URL',
            hint: 'Leave it empty for the default of the type.',
            placeholder: provider.base_url,
          }}
          fixed={['type']}
          hint="JSON with the keys of culvert.yaml: timeouts, headers, all_models, http2, health, dialects …"
          onDone={done}
        />
      )}
      removal="This also removes its credentials, and models lose their targets there. Running requests finish."
    >
      {(provider) => <Provider provider={provider} />}
    </StoredPage>
  );
}

function Provider({ provider }: { provider: ProviderReply }) {
  const may = useMay('providers', 'write');
  const [adding, setAdding] = useState(false);
  const isStored = provider.source === 'kept';
  return (
    <>
      <TestedDetails<TestReply>
        entries={providers}
        name={provider.name}
        found={(result) => <TestResult result={result} isStored={isStored} />}
      >
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
      </TestedDetails>
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
