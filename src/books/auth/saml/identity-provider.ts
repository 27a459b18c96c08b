import type { SamlConfig } from '../../../config/schema/schema-dashboard.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { boundedText } from '../../../kernel/web/bounded-text.ts';
import { type IdpMetadata, readIdpMetadata } from './idp-metadata.ts';

/** Metadata is read again after this time, because a provider changes its certificates. */
const freshMs = 60 * 60_000;
/** While its address does not answer, metadata that is older is good for so long. Then a withdrawn key must not be. */
const staleMs = 24 * 60 * 60_000;
/** Pause after an answer that did not come, so that not every login waits for one. */
const againAfterMs = 60_000;
const answerMaxMs = 10_000;
/** Metadata of a federation has thousands of providers; such a list is too long for one login. */
const bytesMax = 2 * 1024 * 1024;

/**
 * The identity provider as configured, or as its metadata says now. Logins that come at once wait for one fetch. Rejects
 * with a sentence for the log.
 */
export function createIdentityProvider(
  { metadata_url, metadata, entity_id, sso_url, certificates }: SamlConfig['idp'],
  clock: Clock,
  onTrouble: (message: string) => void,
): () => Promise<IdpMetadata> {
  let known: { provider: IdpMetadata; atMs: number } | null = null;
  let nextMs = 0;
  let fetching: Promise<IdpMetadata> | null = null;

  async function fetched(url: string): Promise<IdpMetadata> {
    const provider = readIdpMetadata(await textAt(url), entity_id, clock.wallMs());
    known = { provider, atMs: clock.monotonicMs() };
    return provider;
  }

  async function byUrl(url: string): Promise<IdpMetadata> {
    const nowMs = clock.monotonicMs();
    const ageMs = known === null ? Number.POSITIVE_INFINITY : nowMs - known.atMs;
    if (known !== null && (ageMs < freshMs || (ageMs < staleMs && nowMs < nextMs))) return known.provider;
    fetching ??= fetched(url).finally(() => {
      fetching = null;
    });
    try {
      return await fetching;
    } catch (error) {
      if (known === null || ageMs >= staleMs) throw error;
      nextMs = clock.monotonicMs() + againAfterMs;
      onTrouble(`the metadata of the identity provider could not be read again: ${String(error)}`);
      return known.provider;
    }
  }

  return async () => {
    if (metadata_url !== undefined) return byUrl(metadata_url);
    if (metadata !== undefined) return readIdpMetadata(metadata, entity_id, clock.wallMs());
    return { entityId: entity_id ?? '', ssoUrl: sso_url ?? '', certificates: certificates ?? [] };
  };
}

async function textAt(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(answerMaxMs) });
  const text = await boundedText(response, bytesMax);
  if (!response.ok) throw new Error(`the metadata was answered with status ${response.status}`);
  return text;
}
