import { Money, None } from '../../parts/figures.tsx';

interface Charged {
  target: string | null;
  cost_usd: number | null;
  cache: string | null;
  usage: { source: string };
}

/** The cost of a request in USD; `no price` where something was used of a target without one. */
export function Cost({ request }: { request: Charged }) {
  if (request.cost_usd !== null) return <Money value={request.cost_usd} />;
  const why = whyFree(request);
  if (why !== null) return <span title={why}>{<None />}</span>;
  return (
    <span className="font-normal text-muted text-sm" title="The target has no price. Set one at its model.">
      no price
    </span>
  );
}

/** Whether something was used of a target without a price. */
export function isUnpriced(request: Charged): boolean {
  return request.cost_usd === null && whyFree(request) === null;
}

/** Why a request without a cost used nothing; null: it did, and its target has no price. */
export function whyFree({ cache, target, usage: { source } }: Charged): string | null {
  if (isHit(cache)) return 'nothing: no provider was called';
  if (source === 'refused') return 'nothing: it was refused before it ran';
  if (source === 'none') return 'nothing was used';
  // No target answered, so there is none whose price lacks.
  return target === null ? 'unknown: no target answered' : null;
}

/** Whether a kept answer served it. */
export function isHit(cache: string | null): boolean {
  return cache === 'hit' || cache === 'semantic';
}
