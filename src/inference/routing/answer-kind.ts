import type { RequestNeeds } from '../neutral/request.ts';

/** Answers that take alike: streams until their first token, whole ones by the tokens that were asked for. */
export type AnswerKind = 'stream' | 'whole-256' | 'whole-1024' | 'whole-4096' | 'whole';

const kinds: readonly AnswerKind[] = ['stream', 'whole-256', 'whole-1024', 'whole-4096', 'whole'];

export function answerKindOf({
  stream,
  maxOutputTokens,
}: Pick<RequestNeeds, 'stream' | 'maxOutputTokens'>): AnswerKind {
  if (stream) return 'stream';
  if (maxOutputTokens === null || maxOutputTokens > 4_096) return 'whole';
  return maxOutputTokens > 1_024 ? 'whole-4096' : maxOutputTokens > 256 ? 'whole-1024' : 'whole-256';
}

/** Its place in a list of all kinds. */
export function kindIndex(kind: AnswerKind): number {
  return kinds.indexOf(kind);
}
