import { lossesOf } from '../../formats/neutral/loss.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { FormatError } from './format-error.ts';
import { decodingOf, headOf, ShownEvents } from './handed-facts.ts';
import { callerFormat, checkBody, providerFormat } from './known-formats.ts';
import type { AnswerOptions, Body, CallerFormat, ConvertedAnswer, ProviderFormat } from './types.ts';

/**
 * A provider's whole answer in the format of a caller, and what has no place there. `body` stays as it is. Throws a
 * `FormatError` for an error of the provider, and for what is no answer: `status` is 502.
 */
export function convertAnswer(
  from: ProviderFormat,
  to: CallerFormat,
  body: Body,
  options: AnswerOptions = {},
): ConvertedAnswer {
  const provider = providerFormat(from);
  const caller = callerFormat(to);
  checkBody(body);
  const fold = caller.fold(headOf(options));
  const shown = new ShownEvents(options);
  for (const event of provider.decodeWhole(body as JsonObject, decodingOf(options))) {
    if (event.type === 'failed') throw new FormatError(`${from}: ${event.fault.message}`, { param: null, status: 502 });
    for (const one of shown.of(event)) fold.add(one);
  }
  return { body: fold.result(), dropped: lossesOf(new Set(fold.lost ?? [])) };
}
