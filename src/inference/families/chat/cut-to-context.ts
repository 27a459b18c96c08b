import type { CallerRequest, DialectId } from '../../../formats/dialects/dialect.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import type { NeutralRequest } from '../../../formats/neutral/request.ts';
import { truncatedInput } from '../../../formats/neutral/truncate-input.ts';

/** The meaning of a request for one target, its words for that meaning, and the losses. */
interface Cut {
  neutral: NeutralRequest;
  request: CallerRequest;
  cut: readonly Loss[];
}

/** For a caller that allows it: without the oldest turns, where the target's context is too small for all of them. */
export function cutToContext(
  request: CallerRequest,
  neutral: NeutralRequest,
  { dialect, contextWindow }: { dialect: DialectId; contextWindow?: number | null | undefined },
): Cut {
  // Responses have a field for it: a provider that speaks them cuts the input itself.
  if (dialect === 'openai-responses') return { neutral, request, cut: [] };
  if (contextWindow == null) return { neutral, request, cut: [{ field: 'truncation', why: 'unsupported' }] };
  const remaining = truncatedInput(neutral, contextWindow);
  if (remaining === null) return { neutral, request, cut: [] };
  const { wordFor = (field: string) => field } = request;
  const placeBefore = (_: string, at: string) => `messages[${remaining[Number(at)]}]`;
  return {
    neutral: { ...neutral, messages: remaining.flatMap((index) => neutral.messages[index] ?? []) },
    request: { ...request, wordFor: (field) => wordFor(field.replace(/^messages\[(\d+)\]/, placeBefore)) },
    cut: [{ field: 'input', why: 'narrowed' }],
  };
}
