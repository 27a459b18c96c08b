import type { ForwardedEndpointId } from '../../../formats/dialects/forwarded/endpoint.ts';
import { forwardedEndpoints } from '../../../formats/dialects/forwarded/index.ts';
import { catalog } from '../../../formats/providers/catalog.ts';
import type { Snapshot } from '../../models/snapshot.ts';

/** Key that an operator may set for an endpoint that no provider here serves; null when one does. */
export function nobodyServes({ providers }: Pick<Snapshot, 'providers'>, id: ForwardedEndpointId): string | null {
  for (const { simulated, connection } of providers.values())
    if (!simulated && connection.forwardPaths.has(id)) return null;
  const { path } = forwardedEndpoints[id];
  const keys = catalog.flatMap(({ envKey, forwards }) => (envKey !== null && forwards?.[id] ? [envKey] : []));
  const last = keys.pop();
  const named = keys.length === 0 ? last : `${keys.join(', ')} or ${last}`;
  return `No provider of this gateway serves ${path}. Set ${named} for the server, or name such a provider in culvert.yaml, and restart it.`;
}
