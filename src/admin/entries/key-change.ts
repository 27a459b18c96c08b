import { z } from 'zod';
import type { KeyRow, KeySettings } from '../../books/auth/account-store.ts';
import { guardNames } from '../../config/guard-names.ts';
import { keyTags } from '../../config/key-tags.ts';
import { formatPath } from '../../config/problem.ts';
import { globs, network, someText } from '../../config/scalars.ts';
import { keyLimitsSchema } from '../../config/schema/schema-plans.ts';
import { checkAgainst } from '../../config/schema-issues.ts';
import { invalid } from '../../kernel/failure.ts';
import { futureInstant } from '../fields.ts';
import { refuse } from '../operation.ts';
import { knownContentVersion } from './content-version.ts';
import { type Members, patched } from './merge-patch.ts';

/** Body of PATCH /keys/{id}: an absent member stays as it is. */
export const keyChangeSchema = z
  .strictObject({
    name: someText(64).optional().describe('Its vector data and its usage stay its own.'),
    expires: futureInstant('A date, a time, or a duration from now such as 90d; null: never.').nullish(),
    models: globs().min(1).nullish().describe('Models it may use; null: all models of the plan.'),
    ips: z.array(network()).min(1).max(1_000).nullish().describe('Addresses that may use it; null: all.'),
    limits: z
      .record(z.string(), z.unknown())
      .nullish()
      .describe('Merged into its limits, whose fields are those of POST /keys: null removes one. null: no limits.'),
    guards: guardNames().describe('Guards of its requests. [] for none.'),
    tags: keyTags().describe('What it is found by, and its usage is summed by. [] for none.'),
    version: knownContentVersion,
  })
  .refine(({ version: _, ...set }) => Object.values(set).some((value) => value !== undefined), {
    error: 'expected name, expires, models, ips, limits, guards or tags',
  });

export type KeyChangeBody = z.output<typeof keyChangeSchema>;

/** The members of a key that a body sets, as they are after the change. */
export function settingsIn(body: KeyChangeBody, row: KeyRow, nowMs: number): Partial<KeySettings> {
  const { name, expires, models, ips, limits, guards, tags } = body;
  return {
    ...(name !== undefined && { name }),
    ...(expires !== undefined && { expiresMs: futureMs(expires, nowMs) }),
    ...(models !== undefined && { models }),
    ...(ips !== undefined && { ips }),
    ...(limits !== undefined && { limits: limits === null ? null : merged(row.limits ?? {}, limits) }),
    ...(guards !== undefined && { guards }),
    ...(tags !== undefined && { tags }),
  };
}

/** The ms of an end that must be ahead; null: there is none. */
export function futureMs(
  instant: ((nowMs: number) => number) | null | undefined,
  nowMs: number,
  field = 'expires',
): number | null {
  const atMs = instant?.(nowMs) ?? null;
  return atMs !== null && atMs <= nowMs ? refuse(invalid(field, `${field}: expected a time in the future`)) : atMs;
}

/** Limits after a merge patch; null where none is left. */
function merged(before: Members, patch: Members): KeyRow['limits'] {
  const after = Object.entries(patched(before, patch)).filter(([, value]) => !isEmpty(value));
  if (after.length === 0) return null;
  const checked = checkAgainst(keyLimitsSchema, Object.fromEntries(after));
  if (checked.ok) return checked.value as KeyRow['limits'];
  const [problem] = checked.problems;
  const param = formatPath(['limits', ...(problem?.path ?? [])]);
  return refuse(invalid(param, `${param}: ${problem?.message}`));
}

/** `budget: {}`, of which every window was removed. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}
