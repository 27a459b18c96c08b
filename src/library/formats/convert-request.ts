import type { CallerDialect, CallerRequest, EncodeTarget, UpstreamDialect } from '../../formats/dialects/dialect.ts';
import { withPathMembers } from '../../formats/dialects/gemini/path-members.ts';
import { fitToolNames } from '../../formats/neutral/fit-tool-names.ts';
import type { Loss } from '../../formats/neutral/loss.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { type JsonObject, scanJson } from '../../kernel/json.ts';
import { jsonDepthMax } from '../../kernel/limits.ts';
import { asAnswerFacts, type HandedFacts } from './handed-facts.ts';
import { callerFormat, checkBody, errorOf, providerFormat } from './known-formats.ts';
import type { Body, CallerFormat, ConvertedRequest, ProviderFormat, RequestOptions } from './types.ts';

/**
 * A request of one format in another, and what could not be said there. Nothing is fetched, and `body` stays as it is.
 * Throws a `FormatError` for a body that its own format refuses, and for one whose meaning the other cannot say.
 */
export function convertRequest(
  from: CallerFormat,
  to: ProviderFormat,
  body: Body,
  options: RequestOptions = {},
): ConvertedRequest {
  const caller = callerFormat(from);
  const provider = providerFormat(to);
  const request = readWhole(caller, body, options);
  const target: EncodeTarget = {
    model: options.model ?? request.model,
    maxOutputTokens: options.maxOutputTokens ?? null,
    stream: options.stream ?? request.stream,
    omit: options.omit ?? [],
  };
  const facts: HandedFacts = {
    echo: request.echo,
    includeUsage: request.includeUsage,
    choices: request.n,
    inputTokens: request.needs.inputTokensEstimate,
  };
  const { stream } = target;
  if (caller.id === provider.id) {
    const { bytes, losses } = request.forward({ ...target, body: {}, streamUsage: 'leave', rename: {} });
    return { body: JSON.parse(String(bytes)) as Body, dropped: losses, stream, answer: asAnswerFacts(facts) };
  }
  const { encoded, dropped, toolNames } = encode(request, provider, target);
  const { unwrapTool, stop } = encoded.decode ?? {};
  return { body: encoded.body, dropped, stream, answer: asAnswerFacts({ ...facts, unwrapTool, stop, toolNames }) };
}

/** Checks a body by its own format. */
function readWhole(caller: CallerDialect, body: unknown, { model, stream }: RequestOptions): CallerRequest {
  checkBody(body);
  const written = caller.id === 'gemini' ? withoutModel(body) : body;
  let raw: Buffer = Buffer.from(JSON.stringify(written));
  // Google's clients name the model in the path.
  if (caller.id === 'gemini') raw = withPathMembers(raw, model ?? String(body.model ?? ''), stream ?? false);
  const scan = scanJson(raw, jsonDepthMax);
  if (scan.tooDeep) throw errorOf(invalid(null, `The body nests deeper than ${jsonDepthMax} levels.`));
  const read = caller.readRequest(raw, JSON.parse(raw.toString()) as JsonObject, scan);
  if (isFailure(read)) throw errorOf(read);
  return read;
}

function withoutModel({ model: _, ...rest }: Body): Body {
  return rest;
}

/** The request in the words of a provider's format. */
function encode(request: CallerRequest, provider: UpstreamDialect, target: EncodeTarget) {
  const nativeOnly = request.extras?.nativeOnly ?? null;
  if (nativeOnly !== null) throw errorOf(nativeOnly);
  const neutralRequest = request.neutral();
  // Anthropic takes longer names than all others do.
  const named = provider.id === 'anthropic-messages' ? null : fitToolNames(neutralRequest);
  const neutral = named?.request ?? neutralRequest;
  const encoded = provider.encodeRequest(neutral, target);
  if (isFailure(encoded)) throw errorOf(inCallersWords(encoded, request));
  const { recovered = [], losses } = encoded;
  const lost = (neutral.lost ?? []).filter(({ field }) => !recovered.includes(field));
  return {
    encoded,
    dropped: [...lost, ...losses].map((loss) => lossInCallersWords(loss, request)),
    toolNames: named?.callersNames,
  };
}

function inCallersWords(failure: Failure, { wordFor }: CallerRequest): Failure {
  if (wordFor === undefined || failure.kind !== 'invalid-request' || failure.param === null) return failure;
  const param = wordFor(failure.param);
  return { ...failure, param, message: failure.message.replaceAll(`'${failure.param}'`, `'${param}'`) };
}

function lossInCallersWords(loss: Loss, { wordFor }: CallerRequest): Loss {
  return wordFor === undefined ? loss : { ...loss, field: wordFor(loss.field) };
}
