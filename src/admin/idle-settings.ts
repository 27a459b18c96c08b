import { z } from 'zod';
import { mayMeet } from '../config/cautions.ts';
import {
  type Budgeted,
  budgetedModels,
  uncountedTargets,
  unpricedFix,
  unpricedMessage,
} from '../inference/models/unpriced.ts';
import { didYouMean } from '../kernel/nearest.ts';
import type { AdminParts } from './parts.ts';

export const warningsField = z
  .array(z.string())
  .optional()
  .describe('Of a change: settings that are taken and do nothing so far, and why. Absent: there are none.');

/** Warnings about settings that a change gives to a plan, an account or a key: they have no effect as things are. */
export function idleSettings(
  { snapshots }: Pick<AdminParts, 'snapshots'>,
  { models, ...budgeted }: Partial<Budgeted> & { models?: unknown },
): { warnings?: string[] } {
  const globs = budgetedModels({ plans: [], accounts: [], keys: [], planOf: () => null, ...budgeted });
  const uncounted = unpricedMessage(
    snapshots.current.pricing === null ? uncountedTargets(snapshots.current, globs) : [],
  );
  const warnings = [
    ...unknownModels(snapshots.current, models),
    ...(uncounted === null ? [] : [`budget: ${uncounted}. ${unpricedFix}`]),
  ];
  return warnings.length === 0 ? {} : { warnings };
}

/** Names that no model has. While a list of models was not read, any name may be in it. */
function unknownModels({ config, models }: AdminParts['snapshots']['current'], allowed: unknown): string[] {
  if (!Array.isArray(allowed) || models.unheard.length > 0) return [];
  const ids = [...Object.keys(config.models), ...models.all().map(({ id }) => id)];
  return (allowed as string[])
    .filter((glob) => !ids.some((id) => mayMeet(glob, id)))
    .map((glob) => `models: no model is called '${glob}'${didYouMean(glob, ids)}.`);
}
