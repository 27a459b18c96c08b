import { pathModel } from '../../formats/dialects/gemini/path-members.ts';
import { textsIn, withTexts } from '../../formats/neutral/json-texts.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { RulesRecord } from '../../routing/route.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { Question } from './explained.ts';
import type { ReadableInput } from './readable-input.ts';
import { type RuledCall, type RuledFacts, throughRules } from './ruled.ts';

/** The texts of a body that was read here, and it with another model. */
export function plainReadable(raw: Buffer, kind: string): ReadableInput<Buffer> {
  const json = raw.toString('utf8');
  return {
    texts: () => textsIn(JSON.parse(json) as JsonObject),
    canonical: () => ({ fields: {} }),
    rewrite(changes) {
      const placed = changes.map((change) => (kind === 'gemini' ? { ...change, path: [pathModel] } : change));
      return Buffer.from(withTexts(json, placed));
    },
  };
}

const nobody: NonNullable<Question['ruled']> = { tag: null, callerHeaders: {}, atMs: 0, left: null };

/** A question about a body through the rules for routes, by the same code as a request. */
export async function explainRules<
  I,
  V extends { release(): void | Promise<void>; facts?: RuledFacts },
  Q extends Question & { rules?: RulesRecord },
>(
  snapshot: Pick<Snapshot, 'rules' | 'models'>,
  endpoint: Parameters<typeof throughRules<I, V, Q & RuledCall>>[2],
  question: Q,
  input: I,
  value: V,
): ReturnType<typeof throughRules<I, V, Q & RuledCall>> {
  const { left, ...about } = question.ruled ?? { ...nobody, atMs: Date.now() };
  // An explanation sends nothing, so it knows no vectors.
  return throughRules<I, V, Q & RuledCall>(
    snapshot,
    { left, inner: null },
    endpoint,
    { ...question, ...about },
    input,
    value,
  );
}
