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
  const names = keys.length < 2 ? keys.join('') : `${keys.slice(0, -1).join(', ')} or ${keys.at(-1)}`;
  const remedy = keys.length === 0 ? 'Name' : `Set ${names} for the server, or name`;
  return `No provider of this gateway serves ${path}. ${remedy} such a provider in culvert.yaml, and restart it.`;
}
