import { useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { ProviderReply } from '../../../../src/admin/entries/provider-shown.ts';
import { providers } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { IconButton } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Ago, Count, Span } from '../../parts/figures.tsx';
import { count } from '../../parts/format.ts';
import { unlessChanged } from '../../parts/forms/changed-meanwhile.tsx';
import { Badge, type Tone } from '../../parts/status.tsx';
import { toast } from '../../parts/toast.tsx';

type Credential = ProviderReply['credentials'][number];
type Lane = Credential['lanes'][number];

const tones: Record<Lane['state'], Tone> = {
  ready: 'ok',
  cooling: 'warn',
  due: 'warn',
  probing: 'warn',
  open: 'bad',
  refused: 'bad',
};

/** Each credential with the models that were asked with it, and how these do. */
export function Credentials({ provider, removable }: { provider: ProviderReply; removable: boolean }) {
  const client = useQueryClient();
  const [removing, setRemoving] = useState<string | null>(null);
  if (provider.credentials.length === 0) {
    return <p className="p-4 text-muted">None. Culvert sends requests without a key.</p>;
  }
  return (
    <>
      <ul className="divide-y divide-line">
        {provider.credentials.map((credential) => (
          <li key={credential.id} className="flex flex-col gap-2 px-4 py-3">
            <div className="flex min-h-8 flex-wrap items-center gap-x-3 gap-y-1">
              <span className="min-w-0 font-medium [overflow-wrap:anywhere]">{credential.id}</span>
              {credential.hint !== null && <code className="font-mono text-muted text-xs">{credential.hint}</code>}
              {credential.made_at !== null && (
                <span className="text-muted text-xs">
                  added <Ago at={credential.made_at} /> by {credential.made_by}
                </span>
              )}
              {removable && credential.made_at !== null && (
                <IconButton
                  label={`Remove ${credential.id}`}
                  className="ml-auto"
                  onClick={() => setRemoving(credential.id)}
                >
                  <Trash2 />
                </IconButton>
              )}
            </div>
            <Lanes lanes={credential.lanes} />
          </li>
        ))}
      </ul>
      <Confirm
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={`Remove ${removing}?`}
        action="Remove credential"
        onConfirm={async () => {
          const id = removing?.slice(provider.name.length + 1) ?? '';
          const path = `${providers.addressOf(provider.name)}/credentials/${encodeURIComponent(id)}`;
          await unlessChanged(
            () => call('DELETE', path, { query: { version: provider.version } }),
            () => providers.refresh(client),
          );
          toast('The credential was removed.');
          await providers.refresh(client);
        }}
      >
        Culvert no longer uses it, and running requests finish. The key itself stays valid at the provider.
      </Confirm>
    </>
  );
}

function failures({ failed, succeeded }: Lane): string {
  if (failed + succeeded === 0) return 'no attempt in the last minute';
  return `${count(failed)} of ${count(failed + succeeded)} failed in the last minute`;
}

function Lanes({ lanes }: { lanes: readonly Lane[] }) {
  if (lanes.length === 0) return <p className="text-muted text-xs">No request has used it since the server started.</p>;
  return (
    <ul className="flex flex-col gap-1">
      {lanes.map((lane) => (
        <li key={lane.model} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 text-sm">
          <Badge tone={tones[lane.state]}>{lane.state}</Badge>
          <span className="min-w-0 flex-1 basis-40 truncate">{lane.model}</span>
          <span className="text-muted text-xs">
            {failures(lane)}, first token <Span ms={lane.first_token_ms} />, <Count value={lane.in_flight} /> in flight
          </span>
          {lane.why !== null && (
            <span className="w-full text-muted text-xs [overflow-wrap:anywhere]">
              {lane.why}
              {lane.state === 'due' || lane.state === 'probing'
                ? ', the next request tries it again'
                : lane.back_at !== null && (
                    <>
                      , Culvert tries it again <Ago at={lane.back_at} />
                    </>
                  )}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
