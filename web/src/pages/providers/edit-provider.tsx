import { useQueryClient } from '@tanstack/react-query';
import type { ProviderReply } from '../../../../src/admin/providers.ts';
import { EditDefinition } from '../../parts/edit-definition.tsx';
import { addressOf, refreshProviders } from './use-providers.ts';

/** Changes a stored provider; its credentials are changed beside it. */
export function EditProvider({ provider, onDone }: { provider: ProviderReply; onDone: () => void }) {
  const client = useQueryClient();
  return (
    <EditDefinition
      entry={provider}
      path={addressOf(provider.name)}
      address={{
        name: 'base_url',
        label: 'Base URL',
        hint: 'Leave it empty for the default of the type.',
        placeholder: provider.base_url,
      }}
      fixed={['type']}
      hint="JSON with the keys of culvert.yaml: timeouts, headers, all_models, http2, health, dialects …"
      onSaved={async () => {
        await refreshProviders(client);
        onDone();
      }}
    />
  );
}
