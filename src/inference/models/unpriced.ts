import type { Snapshot } from './snapshot.ts';
import { hasListPrices } from './target-of.ts';

/** Targets of services for which neither the configuration nor the price list has a price, as `provider/model`. */
export function unpricedTargets({ models, providers }: Snapshot): string[] {
  const unpriced = models.targets().filter(({ provider, price }) => {
    const configured = providers.get(provider);
    return price === null && configured !== undefined && hasListPrices(configured);
  });
  return [...new Set(unpriced.map(({ id }) => id))];
}

/** Targets that a message names; the others are counted. */
const shownMax = 10;

/** The warning about them; null when there is none. */
export function unpricedMessage(targets: readonly string[]): string | null {
  if (targets.length === 0) return null;
  const more = targets.length > shownMax ? ` and ${targets.length - shownMax} more` : '';
  return `no price is known of ${targets.slice(0, shownMax).join(', ')}${more}: usage and budgets leave out their USD`;
}

/** How that is mended. */
export const unpricedFix =
  'Give their targets a `price`, or `priced_as` with the name of a listed model, or their provider the name of its `prices`.';
