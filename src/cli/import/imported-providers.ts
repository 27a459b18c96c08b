import type { JsonObject } from '../../kernel/json.ts';
import { knownEntry } from '../../kernel/known-entry.ts';
import type { Deployment, ProviderFacts } from './litellm-deployment.ts';
import type { Settings } from './litellm-settings.ts';
import type { Notes } from './notes.ts';
import { uniqueName } from './unique-name.ts';

/** One provider for all deployments with the same address and key. */
export function importProviders(deployments: readonly Deployment[], { timeouts }: Settings, notes: Notes) {
  const groups = new Map<string, Deployment[]>();
  for (const deployment of deployments) {
    const same = JSON.stringify(deployment.provider);
    groups.set(same, [...(groups.get(same) ?? []), deployment]);
  }
  const names = new Map<string, string>();
  const providers: Record<string, JsonObject> = {};
  for (const [same, of] of groups) {
    const facts = of[0]!.provider;
    const name = freeName(facts, providers);
    names.set(same, name);
    providers[name] = {
      type: facts.type,
      ...(facts.baseUrl !== null && { base_url: facts.baseUrl }),
      ...(facts.apiVersion !== null && { api_version: facts.apiVersion }),
      ...facts.place,
      ...keyOf(facts, of, notes),
      ...(Object.keys(facts.headers).length > 0 && { headers: { ...facts.headers } }),
      ...(Object.keys(timeouts).length > 0 && { timeouts: { ...timeouts } }),
    };
  }
  return {
    /** By name, as `providers:` holds them. */
    providers,
    nameOf: ({ provider }: Deployment): string => knownEntry(names, JSON.stringify(provider)),
  };
}

/** A rate belongs to a key here, and to a model there: both are the same where the key serves one model. */
function keyOf({ key, rpm }: ProviderFacts, of: readonly Deployment[], notes: Notes): JsonObject {
  const [only] = of;
  const limited = of.filter(({ rpm }) => rpm !== null);
  if (key === null) {
    for (const { path } of limited)
      notes.add([...path, 'litellm_params', 'rpm'], 'not carried over: there is no key to limit');
    return {};
  }
  if (rpm !== undefined) return { credentials: [{ api_key: key, rpm }] };
  if (of.length === 1 && only !== undefined && only.rpm !== null)
    return { credentials: [{ api_key: key, rpm: only.rpm }] };
  for (const { path } of limited) {
    const why = 'a rate belongs to a key here, and this key serves several models: providers.NAME.credentials[].rpm';
    notes.add([...path, 'litellm_params', 'rpm'], `not carried over as a limit: ${why}`);
  }
  return { api_key: key };
}

/** `azure`, `azure-2`…: how LiteLLM calls it, as far as a name of ours may. */
function freeName({ service }: ProviderFacts, taken: Readonly<Record<string, unknown>>): string {
  const plain = service
    .replace(/_(ai|chat|nim|text)$/, '')
    .replaceAll('_', '-')
    .replace(/^text-completion-/, '');
  return uniqueName(plain, taken);
}
