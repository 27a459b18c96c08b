import type { Model } from '../../api/caller.ts';
import { exactUsd } from '../../parts/format.ts';
import type { Choice } from '../../parts/forms/choose.tsx';

/** Models to pick from; what they can and cost is next to the name. */
export function modelChoices(models: readonly Model[]): Choice[] {
  return models.map(({ id, owned_by, capabilities, pricing, status, dimensions }) => {
    const can = [
      capabilities.vision && 'pictures',
      capabilities.tools && 'tools',
      capabilities.reasoning && 'reasoning',
    ].filter((word) => word !== false);
    const price = pricing === null ? null : `${exactUsd(pricing.input)} / ${exactUsd(pricing.output)}`;
    const facts = [status !== 'healthy' && status, dimensions !== null && `${dimensions} dimensions`, price];
    return {
      value: id,
      label: id,
      words: [owned_by, ...can].join(' '),
      hint: <span title={can.join(', ')}>{facts.filter(Boolean).join(' · ')}</span>,
    };
  });
}
