import type { CallerRequest, DialectId } from '../../../formats/dialects/dialect.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import type { NeutralRequest } from '../../../formats/neutral/request.ts';
import { truncatedInput } from '../../../formats/neutral/truncate-input.ts';

/** The meaning of a request for one target, its words for that meaning, and the losses. */
interface Cut {
  asked: NeutralRequest;
  request: CallerRequest;
  cut: readonly Loss[];
}

/** For a caller that allows it: without the oldest turns, where the target's context is too small for all of them. */
export function cutToContext(
  request: CallerRequest,
  asked: NeutralRequest,
  { dialect, contextWindow }: { dialect: DialectId; contextWindow?: number | null | undefined },
): Cut {
  // Responses have a field for it: a provider that speaks them cuts the input itself.
  if (dialect === 'openai-responses') return { asked, request, cut: [] };
  if (contextWindow == null) return { asked, request, cut: [{ field: 'truncation', why: 'unsupported' }] };
  const kept = truncatedInput(asked, contextWindow);
  if (kept === null) return { asked, request, cut: [] };
  const { wordFor = (field: string) => field } = request;
  const placeBefore = (_: string, at: string) => `messages[${kept[Number(at)]}]`;
  return {
    asked: { ...asked, messages: kept.flatMap((index) => asked.messages[index] ?? []) },
    request: { ...request, wordFor: (field) => wordFor(field.replace(/^messages\[(\d+)\]/, placeBefore)) },
    cut: [{ field: 'input', why: 'narrowed' }],
  };
}
