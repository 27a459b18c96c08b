import { invalid } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { JsonScan } from '../../../kernel/json-scan.ts';
import type { AnswerHead, CallerRequest, CountedRequest, Result } from '../dialect.ts';
import { callersWord } from './callers-word.ts';
import { checkRequest } from './check-request.ts';
import { systemText, toNeutral } from './decode-request.ts';
import { endUserOf } from './end-user.ts';
import { prepareForTarget } from './prepare-for-target.ts';
import { needsOf } from './request-needs.ts';
import type { CallerBody, CallerThinking } from './request-wire.ts';

/** What of the request an answer in another dialect must heed; plain data, of `CallerRequest.echo`. */
export interface AnswerWishes extends JsonObject {
  /** `sealed`: thinking blocks without their text, but with what the next turn needs. */
  thoughts: 'shown' | 'sealed' | 'hidden';
  /** What `message_start` says before anybody has counted. */
  inputTokens: number;
}

/** What `readRequest` said of the request, for its answer; everything is shown where nothing was said. */
export function wishesOf({ echo }: AnswerHead): AnswerWishes {
  return (echo as AnswerWishes | undefined) ?? { thoughts: 'shown', inputTokens: 0 };
}

/** Checks a body and keeps it as it came: what only a conversion needs is built when one is asked for. */
export function readRequest(raw: Buffer, body: JsonObject, scan: JsonScan): Result<CallerRequest> {
  const checked = checkRequest(body, 'answer');
  if (!checked.ok) return checked;
  const request = checked.value;
  const needs = needsOf(request, raw.length);
  const wishes: AnswerWishes = { thoughts: thoughtsOf(request.thinking), inputTokens: needs.inputTokensEstimate };
  return {
    ok: true,
    value: {
      model: request.model,
      stream: request.stream === true,
      includeUsage: true,
      n: 1,
      seed: null,
      needs,
      user: endUserOf(request),
      fallbackModels: request.models ?? [],
      conversationStart: conversationStart(request),
      echo: wishes,
      wordFor: callersWord,
      neutral: () => toNeutral(request),
      forward: (target) => prepareForTarget(raw, request, scan, target),
      ...(request.max_tokens === 0 && { nativeOnly: noOutput }),
    },
  };
}

/** It warms Anthropic's cache; everybody else would answer without a bound. */
const noOutput = invalid('max_tokens', "'max_tokens' is 0, which no provider of this model takes: send 1 or more.");

/** The same for `count_tokens`, which knows no bound on the output. */
export function readForCount(raw: Buffer, body: JsonObject, scan: JsonScan): Result<CountedRequest> {
  const checked = checkRequest(body, 'count');
  if (!checked.ok) return checked;
  const request = checked.value;
  return {
    ok: true,
    value: {
      model: request.model,
      neutral: () => toNeutral(request),
      forward: (target) => prepareForTarget(raw, request, scan, target),
    },
  };
}

/** A thinking block stands before the text only for those who asked for one: others read `content[0].text`. */
function thoughtsOf(thinking: CallerThinking | null | undefined): AnswerWishes['thoughts'] {
  if (thinking?.type !== 'enabled' && thinking?.type !== 'adaptive') return 'hidden';
  return thinking.display === 'omitted' ? 'sealed' : 'shown';
}

const startCharsMax = 1_024;

/** The instructions and the messages up to the first of the user, which every later turn of the conversation repeats. */
function conversationStart({ system, messages }: CallerBody): string {
  let start = systemText(system).slice(0, startCharsMax);
  for (const { role, content } of messages) {
    if (typeof content === 'string') start += content.slice(0, startCharsMax);
    else for (const { text } of content) start += typeof text === 'string' ? text.slice(0, startCharsMax) : '';
    if (role === 'user' || start.length >= startCharsMax) break;
  }
  return start.slice(0, startCharsMax);
}
